/**
 * Commands of people and channels. Each is one commit of the log; a refusal of the store becomes an AppError.
 *
 * command  a function of (deps, arguments)      deps   the store, the clock, new ids
 * raise    create an inbox item and its event    grant  the right to one retry of one gated call
 */
export {
  BROWSER_ALIVE_MS,
  browserDestroyed,
  browserProvisioned,
  CONTROL_HOLD_MS,
  destroyBrowser,
  type DestroyReason,
  type Driven,
  grantControl,
  returnControl,
  type ReturnReason,
} from './browser/control.ts'
export type { Deps } from './deps.ts'
export {
  findInboxItem,
  findSession,
  mayAccess,
  shownItem,
  visibleTo,
  type Owned,
  type StoredInboxItem,
} from './access.ts'
export { nameDecider, nameDeciders } from './inbox/decider-names.ts'
export {
  budgetOf,
  type ChildConfig,
  childConfig,
  createSession,
  DEFAULT_AGENT,
  SessionConfig,
  StoredSessionConfig,
  type CreateSession,
  workspaceOf,
} from './create.ts'
export { forkSession, type ForkSession } from './fork.ts'
export { confirmDisclosure, presentDisclosure, requireConfirmed } from './channels/disclosure.ts'
export { disclosureText } from './channels/disclosure-text.ts'
export { ensureChannelAccount } from './channels/account.ts'
export {
  changeConnection,
  type ConnectionDeps,
  createConnection,
  deleteConnection,
  openConnectionSettings,
  shownSettings,
} from './channels/connections.ts'
export { createLinkCode, redeemLinkCode } from './channels/links.ts'
export { base32, deliveryKey, promptId } from './channels/delivery-key.ts'
export { createSealing, type Sealing } from './sealing.ts'
export { planTestMessage, type TestMessage } from './channels/test-message.ts'
export { giveFeedback, type GiveFeedback } from './messages/feedback.ts'
export {
  actOnGoal,
  continuation,
  DEFAULT_RUBRIC,
  defineOutcomes,
  MAX_GOAL_ITERATIONS,
  type DefinedGoal,
  type GoalAction,
  type GoalInput,
} from './goals/commands.ts'
export {
  acknowledgeInbox,
  GRANT_TTL_MS,
  readInbox,
  respondInbox,
  type InboxAnswer,
} from './answers/inbox-items.ts'
export { expireChangedGates } from './answers/changed-definitions.ts'
export { findOpenGate, openBlockedGoals, openCheckIns } from './inbox/open-items.ts'
export {
  createActionItem,
  createGateItem,
  createGoalBlockedItem,
  createProgressItem,
  createQuestionItem,
  createReviewEndItem,
  createSkillProposalItem,
  createTaskBlockedItem,
  createTaskCompleteItem,
  recordReviewEnd,
  repeatGate,
  type CreatedItem,
} from './inbox/create-item.ts'
export { archiveSession } from './lifecycle/archive.ts'
export { restoreSession } from './lifecycle/archive.ts'
export { pauseSession, resumeSession, retrySession } from './lifecycle/pause.ts'
export { stopSession } from './lifecycle/stop.ts'
export { sessionCompleted, sessionFailed, sessionResumed } from './events/lifecycle.ts'
export { ACCEPTED, COMPLETE_TOOL, isAccepted } from './tree/child-report.ts'
export { commitEnd, endsChild } from './tree/end-of-turn.ts'
export { composeChildEnd } from './tree/end-tree.ts'
export { readTree } from './tree/commit-tree.ts'
export { reportOf } from './tree/child-report.ts'
export { type ChildPlan, goalMessage, openChild } from './tree/open-child.ts'
export { delegationStart, taskBlocked, boardNote, boardUpdate } from './events/coordination.ts'
export { delegationTimer, dropDelegationTimer } from './tree/delegation.ts'
export { answerQuestion, type AnswerQuestion } from './answers/questions.ts'
export { syntheticMessage, TAKES_INPUT } from './events/messages.ts'
export { addMessage, findRequest, type AddMessage } from './messages/messages.ts'
export { deadlineTimer } from './tree/timers.ts'
export { staleTimer } from './tree/stale.ts'
export { fireTimer } from './lifecycle/fire-timer.ts'
export { derivedId } from './derived-id.ts'
export { closeItem } from './tree/follow-up.ts'
export { beginAttempt, type TaskPlan } from './tree/task-attempt.ts'
export {
  cancelTask,
  composeCancel,
  composeUnblock,
  findTask,
  listTasks,
  describeTaskStatus,
  unblockTask,
  viewTask,
} from './tasks/commands.ts'
export { listProposals, proposalOf, SKILL_PROPOSAL, type Proposed } from './inbox/proposals.ts'
export {
  composeMission,
  defineMission,
  missionEvaluator,
  type MissionInput,
  missionObstacle,
  unpricedModel,
} from './missions/define.ts'
export { missionContinuation, missionResumption } from './missions/messages.ts'
export {
  cancelMission,
  composeCancelMission,
  composePause,
  composeResume,
  pauseMission,
  resumeMission,
  resumeObstacle,
} from './missions/commands.ts'
export { researchProblem, researchSettings } from './research/settings.ts'
export { viewResearch } from './research/view.ts'
export { researchConverged, researchDefined, researchHarvested } from './events/research.ts'
export { viewGoal } from './goals/view.ts'
export { findMission, shownMission, viewMission } from './missions/view.ts'
export {
  chooseNotifications,
  confirmNotificationEmail,
  isAsked,
  type NotificationDeps,
  openNotificationCode,
  openNotificationSecret,
  resendNotification,
  setNotificationEmail,
  setNotificationWebhook,
  testNotification,
  viewNotifications,
} from './inbox/notification-settings.ts'
export { readFolded } from './read-folded.ts'
export { commitFor, refusedAs } from './refusals.ts'
export { renameSession, titleCommit } from './messages/titles.ts'
export { admit, BOARD_WINDOW_MS, composeUpdate, type GivenNote, isLive, lineOf } from './board/board.ts'
export { viewBoard } from './board/view.ts'
export {
  cancelRows,
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
} from './schedule-commands/commands.ts'
export { composeNew, createSchedule } from './schedule-commands/create.ts'
export { findSchedule } from './schedule-commands/find.ts'
export { timingOf } from './schedules/parse-schedule.ts'
export { preview, viewRun, viewSchedule } from './schedules/view.ts'
export {
  closeGates,
  codeChannelUpdate,
  codeRunProgress,
  codeRunResult,
  codeRunStarted,
  findLiveRun,
} from './code/runs.ts'
