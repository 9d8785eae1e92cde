/** A worker of a session as an item of its chat. */
import type { EventData, EventId, WorkerKind } from '@cairn/protocol'

export type WorkerItem = {
  kind: 'worker'
  /** The event that created the worker. */
  event_id: EventId
  created_at: string
  worker_id: string
  goal: string
  agent: string
  /** Workers of tasks are shown on the cards of their tasks. */
  role: Exclude<WorkerKind, 'task'>
  /** Timeout of the parent's wait; null: it does not wait. */
  timeout_seconds: number | null
  status: 'open' | 'complete' | 'failed'
  /** Idle time when it was last reported; null: never reported. */
  idle_seconds: number | null
  /** Null while it is open. */
  outcome: WorkerOutcome | null
}
export type WorkerOutcome = {
  event_id: EventId
  /** The result or the error. */
  text: string
  /** The last output before the failure. */
  partial: string | null
  truncated: boolean
  cause: EventData<'worker.failed'>['cause'] | null
  duration_seconds: number
  iterations: number
  tokens: number
  cost_usd: number
  files_written: readonly string[]
}
