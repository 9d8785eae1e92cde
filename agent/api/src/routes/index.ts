import type { Handlers } from '../handler.ts'
import { about } from './about.ts'
import * as admin from './admin.ts'
import { getArtifact, listArtifacts } from './artifacts.ts'
import { changePreferences, login, logout, me, refresh, setPassword } from './auth.ts'
import { pollEvents, streamEvents } from './events.ts'
import * as inbox from './inbox.ts'
import { forkSession } from './fork.ts'
import { getGoal } from './goals.ts'
import { home } from './home.ts'
import { importPart } from './imports.ts'
import { pauseSession, resumeSession, retrySession, stopSession } from './lifecycle.ts'
import { answerQuestion, confirmDisclosure, giveFeedback, postEvents, sendMessage } from './messages.ts'
import {
  archiveSession,
  createSession,
  getSession,
  listSessions,
  renameSession,
  restoreSession,
  sessionChildren,
  sessionTree,
} from './sessions.ts'
import { sessionSpans } from './spans.ts'
import { sessionWorkers } from './workers.ts'
import { streamShared } from './shared-stream.ts'
import { getBoard } from './board.ts'
import * as browser from './browser.ts'
import * as connections from './channel-connections.ts'
import * as channels from './channels.ts'
import * as mcpAccounts from './mcp-accounts.ts'
import * as notices from './notifications.ts'
import * as schedules from './schedules.ts'
import * as marks from './session-marks.ts'
import * as settings from './settings.ts'
import * as shares from './shares.ts'
import * as search from './search.ts'
import * as usage from './usage.ts'
import { cancelTask, listTasks, unblockTask } from './tasks.ts'
import {
  cancelMission,
  createMission,
  getMission,
  listMissions,
  missionResearch,
  missionTasks,
  missionWorkers,
  pauseMission,
  resumeMission,
} from './missions.ts'
import { workspaceFile, workspaceTree } from './workspace.ts'
import { putWorkspaceFile, workspaceCheckpoint } from './workspace-changes.ts'

export const HANDLERS: Handlers = {
  ...browser,
  ...mcpAccounts,
  home,
  createSession,
  listSessions,
  getSession,
  renameSession,
  archiveSession,
  restoreSession,
  forkSession,
  importPart,
  sendMessage,
  streamEvents,
  pollEvents,
  postEvents,
  getGoal,
  pauseSession,
  resumeSession,
  retrySession,
  stopSession,
  giveFeedback,
  answerQuestion,
  confirmDisclosure,
  sessionTree,
  sessionChildren,
  sessionWorkers,
  sessionSpans,
  listTasks,
  getBoard,
  unblockTask,
  cancelTask,
  createMission,
  listMissions,
  getMission,
  missionResearch,
  missionTasks,
  missionWorkers,
  pauseMission,
  resumeMission,
  cancelMission,
  listArtifacts,
  getArtifact,
  workspaceTree,
  workspaceFile,
  putWorkspaceFile,
  workspaceCheckpoint,
  ...inbox,
  streamShared,
  login,
  refresh,
  logout,
  me,
  changePreferences,
  setPassword,
  about,
  ...admin,
  ...schedules,
  ...search,
  ...settings,
  ...marks,
  ...shares,
  ...usage,
  ...channels,
  ...connections,
  ...notices,
}
