/** The words for what a session is and how sessions are found; without schemas, so a page loads no more. */

export const SESSION_STATUSES = ['active', 'paused', 'completed', 'failed', 'archived'] as const

/** What a session does, or waits for; derived by the server, the same wherever it is shown. */
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

/** What a listing is ordered by: when it was made, when it last changed, what it cost; the most first. */
export const SESSION_SORTS = ['created', 'updated', 'cost'] as const
export type SessionSort = (typeof SESSION_SORTS)[number]

/** Where words were found: said by a person, by the agent, in a tool call or its result, in the title. */
export const SEARCHED_TEXTS = ['message', 'answer', 'tool', 'title'] as const
export type SearchedText = (typeof SEARCHED_TEXTS)[number]

/** What sums of use are kept apart by. */
export const USAGE_GROUPS = ['agent', 'user', 'model'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]
