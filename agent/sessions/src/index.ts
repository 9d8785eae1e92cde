/**
 * Commands that people and channels issue. Each is one commit of the log; what a guard refuses is an
 * AppError.
 *
 * command  a function of (deps, arguments)      deps   the store, the clock, fresh ids
 * raise    make an inbox item with its event    grant  the right to one retry of one gated call
 */
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
export {
  type ChildConfig,
  childConfig,
  createSession,
  DEFAULT_AGENT,
  SessionConfig,
  StoredSessionConfig,
  type CreateSession,
  workspaceOf,
} from './create.ts'
export { confirmDisclosure } from './disclosure.ts'
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
export {
  acknowledgeInbox,
  findOpenGate,
  GRANT_TTL_MS,
  openCheckIns,
  raiseAction,
  raiseGate,
  raiseProgress,
  raiseQuestion,
  raiseReviewEnd,
  raiseSkillProposal,
  raiseTaskComplete,
  readInbox,
  repeatGate,
  respondInbox,
  type InboxAnswer,
  recordReviewEnd,
  type Raised,
} from './inbox.ts'
export { archiveSession, pauseSession, resumeSession, retrySession, stopSession } from './lifecycle.ts'
export { completed, failed, resumed } from './lifecycle-events.ts'
export { ACCEPTED, COMPLETE_TOOL, isAccepted } from './child-report.ts'
export { commitEnd, endsChild } from './end-of-turn.ts'
export { endOf, type EndOfChild } from './cascade.ts'
export { reportOf } from './child-report.ts'
export { type ChildPlan, goalMessage, openChild } from './open-child.ts'
export { delegationStart } from './coordination.ts'
export { delegationTimer, dropDelegationTimer, fireDelegation } from './delegation.ts'
export { cutAt } from './cut-text.ts'
export {
  addMessage,
  answerQuestion,
  findRequest,
  syntheticMessage,
  TAKES_INPUT,
  type AddMessage,
  type AnswerQuestion,
} from './messages.ts'
export { listProposals, proposalOf, SKILL_PROPOSAL, type Proposed } from './proposals.ts'
export { commitFor, refusedAs } from './refusals.ts'
export { renameSession, titleCommit } from './titles.ts'
