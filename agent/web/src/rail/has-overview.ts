/** Whether the overview of the rail has something to show. Separate from it: the rail is loaded on demand. */
import { hasTasks, isMissionUnderWay, type SessionView } from '@cairn/state'

export const hasOverview = (view: SessionView): boolean =>
  view.plan.length > 0 ||
  view.goal !== null ||
  view.code.length > 0 ||
  (view.saga?.steps.length ?? 0) > 0 ||
  view.children.open.length > 0 ||
  hasTasks(view.children) ||
  view.board.shared ||
  view.board.at !== null ||
  isMissionUnderWay(view.mission)
