/** A task of a session as an item of its chat: its attempts, what it waits for, and how it stands. */
import type { EventId } from '@cairn/protocol'
import type { WorkerOutcome } from './worker-item.ts'

type TaskAttempt = {
  worker_id: string
  /** Counted from 1. */
  number: number
  /** RFC 3339. */
  created_at: string
  /** Null while it is at work, or blocked. */
  outcome: WorkerOutcome | null
}
export type TaskItem = {
  kind: 'task'
  /** Where the card stands: the first event that told of the task. */
  event_id: EventId
  created_at: string
  task_id: string
  goal: string
  agent: string | null
  /** Tasks that must be done first; a goal that the log does not tell is null. */
  after: readonly { task_id: string; goal: string | null }[]
  max_attempts: number | null
  /**
   * A person's answer to a block is no event of this session: until its worker is heard of again, the store
   * alone knows that it goes on.
   */
  status: 'todo' | 'running' | 'blocked' | 'done' | 'failed' | 'cancelled'
  /** Why it is blocked, failed or cancelled; else null. */
  reason: string | null
  attempts: readonly TaskAttempt[]
}

/** Nothing more comes of it. */
export const isTaskItemOver = ({ status }: Pick<TaskItem, 'status'>): boolean =>
  status === 'done' || status === 'failed' || status === 'cancelled'
