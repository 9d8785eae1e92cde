/** A task of a session as an item of its chat: its attempts, dependencies and status. */
import type { EventId } from '@cairn/protocol'
import type { WorkerOutcome } from './worker-item.ts'

type TaskAttempt = {
  worker_id: string
  /** Counted from 1. */
  number: number
  /** RFC 3339. */
  created_at: string
  /** Null while it is running or blocked. */
  outcome: WorkerOutcome | null
}
export type TaskItem = {
  kind: 'task'
  /** The card's position: the first event about the task. */
  event_id: EventId
  created_at: string
  task_id: string
  goal: string
  agent: string | null
  /** Tasks that must be done first; the goal is null if the log does not contain it. */
  after: readonly { task_id: string; goal: string | null }[]
  max_attempts: number | null
  /**
   * A person's answer to a block is not an event of this session: until its worker reports again, only the
   * store knows that it continues.
   */
  status: 'todo' | 'running' | 'blocked' | 'done' | 'failed' | 'cancelled'
  /** Why it is blocked, failed or cancelled; null otherwise. */
  reason: string | null
  attempts: readonly TaskAttempt[]
}

/** The task has reached its final status. */
export const isTaskItemOver = ({ status }: Pick<TaskItem, 'status'>): boolean =>
  status === 'done' || status === 'failed' || status === 'cancelled'
