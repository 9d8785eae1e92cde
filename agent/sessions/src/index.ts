/**
 * Commands of people, channels and programs to sessions. Each command is one commit of the log; a refusal of
 * the store becomes an AppError. Below, the exports by folder.
 *
 * command      a function of (deps, arguments)       deps     the store, the clock, new ids
 * compose…     the parts of a commit, for a caller that commits more with them
 * tree         a session and its descendants         child    a worker, or a run of a schedule
 */

// Shared by all folders: dependencies, access, refusals, ids, stored state.
export type { Deps } from './deps.ts'
export { completeActions } from './answers/complete-actions.ts'
export {
  findInboxItem,
  findSession,
  mayAccess,
  shownItem,
  visibleTo,
  type Owned,
  type StoredInboxItem,
} from './access.ts'
export { commitFor, refusedAs } from './refusals.ts'
export { derivedId } from './derived-id.ts'
export { readFolded } from './read-folded.ts'
export { createSealing, type Sealing } from './sealing.ts'

// A person's preferences, pins and saved views.
export { changePreferences, readPreferences } from './preferences.ts'
export { listSessionMarks, pinSession, removeView, saveView, unpinSession } from './session-marks.ts'

// New sessions: create, fork, import.
export {
  agentNamesOf,
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

export { chainHash, importPart, type ImportedPart } from './import.ts'

// messages/: what a person adds to a session: messages, ratings, its title.
export { addMessage, findRequest, type AddMessage } from './messages/messages.ts'
export { giveFeedback, type GiveFeedback } from './messages/feedback.ts'
export { renameSession, titleCommit } from './messages/titles.ts'

// lifecycle/: pause, resume, retry, stop, archive, restore, and due timers.
export { pauseSession, resumeSession, retrySession } from './lifecycle/pause.ts'
export { stopSession } from './lifecycle/stop.ts'
export { archiveSession, restoreSession } from './lifecycle/archive.ts'
export { fireTimer } from './lifecycle/fire-timer.ts'

// tree/: children, how they start, and how a tree ends in one commit.
export { type ChildPlan, goalMessage, openChild } from './tree/open-child.ts'
export { beginAttempt, type TaskPlan } from './tree/task-attempt.ts'
export { isTreeMoved, readTree } from './tree/commit-tree.ts'
export { composeChildEnd } from './tree/end-tree.ts'
export { commitEnd, endsChild } from './tree/end-of-turn.ts'
export { closeItem } from './tree/follow-up.ts'
export { ACCEPTED, COMPLETE_TOOL, isAccepted, reportOf } from './tree/child-report.ts'
export { delegationTimer, dropDelegationTimer } from './tree/delegation.ts'
export { staleTimer } from './tree/stale.ts'
export { deadlineTimer } from './tree/timers.ts'

// tasks/: what the owner of a task and people can do about it.
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

// missions/, research/, goals/: work that is graded in rounds.
export {
  composeMission,
  defineMission,
  missionEvaluator,
  type MissionInput,
  missionObstacle,
  unpricedModel,
} from './missions/define.ts'
export {
  cancelMission,
  composeCancelMission,
  composePause,
  composeResume,
  pauseMission,
  resumeMission,
  resumeObstacle,
} from './missions/commands.ts'
export { missionContinuation, missionResumption } from './missions/messages.ts'
export { findMission, shownMission, viewMission } from './missions/view.ts'
export { researchProblem, researchSettings } from './research/settings.ts'
export { viewResearch } from './research/view.ts'
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
export { viewGoal } from './goals/view.ts'

// schedules/: rules and views, which tree/ imports. schedule-commands/: commands, which import tree/.
export { timingOf } from './schedules/parse-schedule.ts'
export { preview, viewRun, viewSchedule } from './schedules/view.ts'
export { composeNew, createSchedule } from './schedule-commands/create.ts'
export {
  cancelRows,
  cancelSchedule,
  changeSchedule,
  pauseSchedule,
  resumeSchedule,
  runSchedule,
} from './schedule-commands/commands.ts'
export { findSchedule } from './schedule-commands/find.ts'

// inbox/: items for people, and how they are notified.
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
export {
  type Approval,
  findApproval,
  findOpenGate,
  openBlockedGoals,
  openCheckIns,
} from './inbox/open-items.ts'
export { markItems, markItemUnread, readInbox, snoozeItem, unsnoozeItem } from './inbox/item-marks.ts'
export { nameDecider, nameDeciders } from './inbox/decider-names.ts'
export { listProposals, proposalOf, SKILL_PROPOSAL, type DecidedProposal } from './inbox/proposals.ts'
export {
  chooseNotifications,
  confirmNotificationEmail,
  isMethodOn,
  isRequested,
  type NotificationDeps,
  openNotificationCode,
  openNotificationSecret,
  pushPublicKey,
  resendNotification,
  setNotificationEmail,
  setNotificationWebhook,
  subscribePush,
  testNotification,
  viewNotifications,
} from './inbox/notification-settings.ts'
export { pushKeys, type PushKeys, pushTargets, type PushTarget } from './inbox/push-settings.ts'

// answers/: people's answers to questions and inbox items.
export { answerQuestion, type AnswerQuestion } from './answers/questions.ts'
export {
  acknowledgeInbox,
  GRANT_TTL_MS,
  respondInbox,
  type InboxAnswer,
  unacknowledgeInbox,
} from './answers/inbox-items.ts'
export { expireChangedGates } from './answers/changed-definitions.ts'

// board/: notes that the sessions of a tree share.
export { admit, BOARD_WINDOW_MS, composeUpdate, type NoteInput, isLive, lineOf } from './board/board.ts'
export { viewBoard } from './board/view.ts'

// channels/: connections to messaging platforms, links of accounts, the disclosure of the AI.
export {
  changeConnection,
  type ConnectionDeps,
  createConnection,
  deleteConnection,
  ensureChannelAccount,
  openConnectionSettings,
  planTestMessage,
  shownSettings,
  type TestMessage,
} from './channels/connections.ts'
export { createLinkCode, redeemLinkCode } from './channels/links.ts'
export { base32, deliveryKey, promptId } from './channels/delivery-key.ts'
export { confirmDisclosure, presentDisclosure, requireConfirmed } from './channels/disclosure.ts'
export { disclosureText } from './channels/disclosure-text.ts'

// browser/, code/: the browser and the coding runs of a session.
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
export {
  closeGates,
  codeChannelUpdate,
  codeRunProgress,
  codeRunResult,
  codeRunStarted,
  findLiveRun,
} from './code/runs.ts'

// events/: constructors of events, one file for each producer.
export { boardNote, boardUpdate, delegationStart, taskBlocked } from './events/coordination.ts'
export { sessionCompleted, sessionFailed, sessionResumed } from './events/lifecycle.ts'
export { syntheticMessage, TAKES_INPUT } from './events/messages.ts'
export { researchConverged, researchDefined, researchHarvested } from './events/research.ts'
