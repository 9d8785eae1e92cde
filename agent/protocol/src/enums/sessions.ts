/** Enumerations of sessions and their search, without schemas so that a page can load them cheaply. */

export const SESSION_STATUSES = ['active', 'paused', 'completed', 'failed', 'archived'] as const

/** What a session does or waits for. Derived by the server, so every view shows the same state. */
export const SESSION_STATES = [
  'idle',
  'running',
  'needs_answer',
  'needs_approval',
  'needs_action',
  'paused',
  'failed',
  'done',
] as const

/** Sort keys of the session list: creation time, last change, cost; all descending. */
export const SESSION_SORTS = ['created', 'updated', 'cost'] as const
export type SessionSort = (typeof SESSION_SORTS)[number]

/**
 * Where a search matched: a person's message, an answer of the agent, a tool call or its result, the title.
 */
export const SEARCHED_TEXTS = ['message', 'answer', 'tool', 'title'] as const
export type SearchedText = (typeof SEARCHED_TEXTS)[number]

/** What the time of a session went to. */
export const SHAPE_KINDS = ['model', 'tool', 'worker', 'browser', 'wait', 'failed'] as const
export type ShapeKind = (typeof SHAPE_KINDS)[number]
/** Stretches of a session, oldest first, each with its share of the whole. */
export type SessionShape = [kind: ShapeKind, share: number][]
/** The last tool call of a session, or the last text of its agent, both shortened. */
export type LastStep = { tool: string; arguments: Record<string, unknown> } | { text: string }

/** Grouping keys of usage totals. */
export const USAGE_GROUPS = ['agent', 'user', 'model'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]
