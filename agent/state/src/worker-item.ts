/** A worker of a session as an item of its chat. */
import type { EventData, EventId, WorkerKind } from '@cairn/protocol'

export type WorkerItem = {
  kind: 'worker'
  /** That it was made. */
  event_id: EventId
  created_at: string
  worker_id: string
  goal: string
  agent: string
  /** Those of tasks stand in the cards of their tasks. */
  role: Exclude<WorkerKind, 'task'>
  /** Its parent waits for it so long at most; null: it does not wait. */
  timeout_seconds: number | null
  status: 'open' | 'complete' | 'failed'
  /** So long nothing came of it when that was last reported; null where it never was. */
  idle_seconds: number | null
  /** Null while it is open. */
  outcome: WorkerOutcome | null
}
export type WorkerOutcome = {
  event_id: EventId
  /** Its result, or what went wrong. */
  text: string
  /** The last that it said before it failed. */
  partial: string | null
  truncated: boolean
  cause: EventData<'worker.failed'>['cause'] | null
  duration_seconds: number
  iterations: number
  tokens: number
  cost_usd: number
  files_written: readonly string[]
}
