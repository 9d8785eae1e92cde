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
} from './browser.ts'
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
export { nameDecider, nameDeciders } from './decider-names.ts'
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
export { confirmDisclosure, presentDisclosure, requireConfirmed } from './disclosure.ts'
export { disclosureText } from './disclosure-text.ts'
export { ensureChannelAccount } from './channel-account.ts'
export {
  changeConnection,
  type ConnectionDeps,
  createConnection,
  deleteConnection,
  openConnectionSettings,
  shownSettings,
} from './channel-connections.ts'
export { createLinkCode, redeemLinkCode } from './channel-links.ts'
export { base32, deliveryKey, promptId } from './delivery-key.ts'
export { createSealing, type Sealing } from './sealing.ts'
export { planTestMessage, type TestMessage } from './test-message.ts'
export { giveFeedback, type GiveFeedback } from './feedback.ts'
export {
  actOnGoal,
  continuation,
  DEFAULT_RUBRIC,
  defineOutcomes,
  MAX_GOAL_ITERATIONS,
  type DefinedGoal,
  type GoalAction,
  type GoalInput,
} from './goals.ts'
export { acknowledgeInbox, GRANT_TTL_MS, readInbox, respondInbox, type InboxAnswer } from './inbox.ts'
export { expireChangedGates } from './changed-definitions.ts'
export { findOpenGate, openBlockedGoals, openCheckIns } from './open-items.ts'
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
} from './create-inbox-item.ts'
export { archiveSession } from './archive.ts'
export { restoreSession } from './restore.ts'
export { pauseSession, resumeSession, retrySession, stopSession } from './lifecycle.ts'
export { sessionCompleted, sessionFailed, sessionResumed } from './lifecycle-events.ts'
export { ACCEPTED, COMPLETE_TOOL, isAccepted } from './child-report.ts'
export { commitEnd, endsChild } from './end-of-turn.ts'
export { composeChildEnd, type ChildEnd } from './cascade.ts'
export { readTree } from './commit-tree.ts'
export { reportOf } from './child-report.ts'
export { type ChildPlan, goalMessage, openChild } from './open-child.ts'
export { delegationStart, taskBlocked, boardNote, boardUpdate } from './coordination.ts'
export { delegationTimer, dropDelegationTimer } from './delegation.ts'
export { answerQuestion, type AnswerQuestion } from './answers.ts'
export { syntheticMessage, TAKES_INPUT } from './message-events.ts'
export { addMessage, findRequest, type AddMessage } from './messages.ts'
export { deadlineTimer } from './deadline-timer.ts'
export { staleTimer } from './stale.ts'
export { fireTimer } from './timers.ts'
export { derivedId } from './derived-id.ts'
export { closeItem, followUp } from './follow-up.ts'
export { beginAttempt, type TaskPlan } from './task-attempt.ts'
export {
  cancelTask,
  composeCancel,
  composeUnblock,
  findTask,
  listTasks,
  describeTaskStatus,
  unblockTask,
  viewTask,
} from './tasks.ts'
export { listProposals, proposalOf, SKILL_PROPOSAL, type Proposed } from './proposals.ts'
export {
  composeMission,
  defineMission,
  missionEvaluator,
  type MissionInput,
  missionObstacle,
  unpricedModel,
} from './define-mission.ts'
export { missionContinuation, missionResumption } from './mission-messages.ts'
export {
  cancelMission,
  composeCancelMission,
  composePause,
  composeResume,
  pauseMission,
  resumeMission,
  resumeObstacle,
} from './mission-commands.ts'
export { researchProblem, researchSettings } from './research-settings.ts'
export { viewResearch } from './view-research.ts'
export { researchConverged, researchDefined, researchHarvested } from './research-events.ts'
export { viewGoal } from './view-goal.ts'
export { findMission, shownMission, viewMission } from './view-mission.ts'
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
} from './notifications.ts'
export { readFolded } from './read-folded.ts'
export { commitFor, refusedAs } from './refusals.ts'
export { renameSession, titleCommit } from './titles.ts'
export { admit, BOARD_WINDOW_MS, composeUpdate, type GivenNote, isLive, lineOf } from './board.ts'
export { viewBoard } from './view-board.ts'
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
} from './code.ts'
