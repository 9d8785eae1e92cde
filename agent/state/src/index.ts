/** Pure folds of a session's log: runner and UI compute the same state from the same events. */
export * from './conversation/conversation.ts'
export type * from './conversation/messages.ts'
export { FORK, IMPORT, settledMessages, startsWithHistory } from './conversation/fork.ts'
export { type OpenCall } from './conversation/open-calls.ts'
export { inCallOrder } from './conversation/call-order.ts'
export { type Owned } from './conversation/owned.ts'
export * from './turn.ts'
export * from './usage.ts'
export type { BoardItem, ChatItem, ToolStatus } from './chat/chat-item.ts'
export * from './chat/session-view.ts'
export { isTaskItemOver, type TaskItem } from './chat/task-item.ts'
export { type ToolGroup, type ToolIcon, type ToolWords, toolWords } from './tool-words.ts'
export { type WorkerItem, type WorkerOutcome } from './chat/worker-item.ts'
export * from './capabilities/goal.ts'
export * from './capabilities/grading.ts'
export * from './capabilities/mission.ts'
export * from './capabilities/research.ts'
export * from './capabilities/convergence.ts'
export * from './capabilities/index.ts'
export * from './capabilities/children.ts'
export * from './capabilities/tasks.ts'
export * from './capabilities/compacted.ts'
export * from './conversation/measured.ts'
export * from './capabilities/pending-commands.ts'
export * from './capabilities/advice.ts'
export * from './capabilities/progress.ts'
export * from './capabilities/review.ts'
export * from './capabilities/saga.ts'
export * from './snapshot.ts'
export * from './spans/active-time.ts'
export { isExpectedMiss } from './spans/call-outcome.ts'
export { foldSpans } from './spans/fold-spans.ts'
export * from './spans/packed-spans.ts'
export * from './spans/pyramid.ts'
export * from './spans/span-rows.ts'
export { emptySpanFold, type SpanFold } from './spans/span-fold.ts'
export {
  COLUMNS,
  emptySpans,
  endOf,
  hasFlag,
  isOpen,
  kindNumber,
  kindOf,
  SPAN_BYTES,
  spanOfEvent,
  type Spans,
} from './spans/spans.ts'
export * from './capabilities/spending.ts'
export { FOLD_VERSION } from './fold-version.ts'
export * from './capabilities/code-runs.ts'
export { CODE_USAGE, type CodeCommand, splitTask } from './commands/code-command.ts'
export * from './capabilities/waiting.ts'
export * from './capabilities/experts.ts'
export * from './conversation/trajectory.ts'
export { LOOP_USAGE, type LoopCommand } from './commands/loop-command.ts'
export * from './commands/slash-command.ts'
export * from './commands/unknown-command.ts'
export { type MissionCommand } from './commands/mission-command.ts'
export { GENAI_SCHEMA_URL } from './telemetry/attributes.ts'
export {
  createTelemetryFold,
  foldTelemetry,
  type TelemetryFold,
  type TelemetryRest,
} from './telemetry/fold-telemetry.ts'
export type {
  Attributes,
  AttributeValue,
  TelemetryOptions,
  TelemetrySpan,
  TraceRef,
} from './telemetry/telemetry-span.ts'
