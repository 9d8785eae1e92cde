/** A link of a child session to its parent, a session's position in its tree, and both as they are stored. */
import type { Session, WorkerKind, WorkerView } from '@cairn/protocol'

/** `run`: a scheduled run, which is the root of its own tree. */
export type LinkKind = WorkerKind | 'run'
/** Why a child ended without a result. `parent`: its parent was stopped, ended or archived. */
export const LINK_CAUSES = [
  'empty',
  'budget',
  'tool_loop',
  'error',
  'cancelled',
  'timeout',
  'deadline',
  'parent',
  'archived',
] as const
export type LinkCause = (typeof LINK_CAUSES)[number]

export type NewLink = {
  child_id: string
  parent_id: string
  root_id: string
  /** 1 for a child of a root. */
  depth: number
  kind: LinkKind
  /** The call of the parent that created the child. */
  tool_call_id: string | null
  /** For an attempt at a task: the task, and the number of the attempt, from 1. */
  task_id: string | null
  attempt: number | null
  /** Reserved from the parent's budget until the outcome; absent: nothing. */
  reserved_tokens?: number
  reserved_cost_usd?: number
}
export type Link = NewLink & {
  reserved_tokens: number
  reserved_cost_usd: number
  status: WorkerView['status']
  cause: LinkCause | null
  paused_by_parent: boolean
  /** Usage of the child and its subtree according to its outcome; 0 while it is open. */
  input_tokens: number
  output_tokens: number
  cost_usd: number
  /** Epoch milliseconds. */
  opened_at: number
  settled_at: number | null
}
export type LinkOutcome = { child_id: string; status: 'complete' | 'failed' } & Pick<
  Link,
  'root_id' | 'cause' | 'input_tokens' | 'output_tokens' | 'cost_usd'
>

/** Counters of a child as they were read; they change with every step of the child. */
export type SeenLog = { input_tokens: number; output_tokens: number; tool_call_count: number }

/** A session's position in its tree. */
export type SessionTree = Pick<Session, 'root_id' | 'depth' | 'open_children' | 'children_cost_usd'>

export type StoredLink = Omit<Link, 'paused_by_parent'> & { paused_by_parent: number }
export const toLink = (row: StoredLink): Link => ({
  child_id: row.child_id,
  parent_id: row.parent_id,
  root_id: row.root_id,
  depth: row.depth,
  kind: row.kind,
  tool_call_id: row.tool_call_id,
  task_id: row.task_id,
  attempt: row.attempt,
  reserved_tokens: row.reserved_tokens,
  reserved_cost_usd: row.reserved_cost_usd,
  status: row.status,
  cause: row.cause,
  paused_by_parent: row.paused_by_parent === 1,
  input_tokens: row.input_tokens,
  output_tokens: row.output_tokens,
  cost_usd: row.cost_usd,
  opened_at: row.opened_at,
  settled_at: row.settled_at,
})

export type StoredTree = SessionTree & { id: string }
export const toTrees = (rows: readonly StoredTree[], ids: readonly string[]): SessionTree[] => {
  const found = new Map(rows.map(row => [row.id, row]))
  return ids.map(id => {
    const row = found.get(id)
    if (row === undefined) throw new Error(`[links] no row was read for session ${id}`)
    const { root_id, depth, open_children, children_cost_usd } = row
    return { root_id, depth, open_children, children_cost_usd: Number(children_cost_usd.toFixed(10)) }
  })
}
