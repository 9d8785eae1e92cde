import type { Handlers } from '../handler.ts'
import { about } from './about.ts'
import * as admin from './admin.ts'
import { getArtifact, listArtifacts } from './artifacts.ts'
import { login, logout, me, refresh, setPassword } from './auth.ts'
import { pollEvents, streamEvents } from './events.ts'
import { ackInboxItem, getInboxItem, listInbox, readInboxItem, respondInbox, streamInbox } from './inbox.ts'
import { forkSession } from './fork.ts'
import { getGoal } from './goals.ts'
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
import { sessionWorkers } from './workers.ts'
import { streamShared } from './shared-stream.ts'
import { getBoard } from './board.ts'
import * as browser from './browser.ts'
import * as connections from './channel-connections.ts'
import * as channels from './channels.ts'
import * as notices from './notifications.ts'
import * as schedules from './schedules.ts'
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
  createSession,
  listSessions,
  getSession,
  renameSession,
  archiveSession,
  restoreSession,
  forkSession,
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
  listInbox,
  streamInbox,
  streamShared,
  getInboxItem,
  respondInbox,
  readInboxItem,
  ackInboxItem,
  login,
  refresh,
  logout,
  me,
  setPassword,
  about,
  ...admin,
  ...schedules,
  ...search,
  ...shares,
  ...usage,
  ...channels,
  ...connections,
  ...notices,
}
