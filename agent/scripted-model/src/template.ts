/** `{{placeholders}}` in a scenario: parts of the conversation, inserted into texts and tool arguments. */

export type PastCall = { name: string; arguments: string; result: string | undefined }
/** The facts about a conversation that rules can test. */
export type Facts = {
  model: string
  system: string
  user: string
  /** All user messages since the last answer, one per line. */
  said: string
  /** Number of user messages. */
  turn: number
  /** Number of answers since the last user message. */
  step: number
  toolCalls: number
  tools: readonly string[]
  schema: string | undefined
  /** Every call of the conversation, in order. */
  calls: readonly PastCall[]
  /** The results at the end of the conversation; none if a user message came last. */
  results: readonly { name: string; content: string }[]
}

const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g
/** `root.path.to.value:60`; the number truncates longer values. */
const FORM = /^(user|said|result|result_of|tools|model|turn|step)((?:\.[^.:]+)*)(?::(\d+))?$/
const ROOTS_WITH_PATH = new Set(['user', 'result', 'result_of'])

/** The unknown placeholders of a text. */
export function unknownPlaceholders(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)]
    .map(match => match[1] ?? '')
    .filter(name => {
      const form = FORM.exec(name)
      return form === null || (form[2] !== '' && !ROOTS_WITH_PATH.has(form[1] ?? ''))
    })
}

/**
 * Data with every text filled in. `{{user}}` is the last user message and `{{user.1}}` the first group of the
 * rule's pattern, `{{said}}` all user messages since the last answer, one per line; `{{result.path}}` reads
 * the last tool result as JSON, `{{result_of.tool.path}}` that of the named tool. Missing values are empty;
 * values found by a path lose trailing line ends.
 */
export function fill(data: unknown, facts: Facts, groups: readonly string[]): unknown {
  if (typeof data === 'string') return fillText(data, facts, groups)
  if (Array.isArray(data)) return data.map(entry => fill(entry, facts, groups))
  if (typeof data === 'object' && data !== null)
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, fill(value, facts, groups)]))
  return data
}

export function fillText(text: string, facts: Facts, groups: readonly string[]): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string) => {
    const form = FORM.exec(name)
    if (!form) return whole
    const path = (form[2] ?? '').split('.').slice(1)
    const value = valueOf(form[1] ?? '', path, facts, groups)
    const limit = form[3] === undefined ? Infinity : Number(form[3])
    return value.length > limit ? `${value.slice(0, limit)}…` : value
  })
}

function valueOf(root: string, path: readonly string[], facts: Facts, groups: readonly string[]): string {
  switch (root) {
    case 'user':
      return path.length === 0 ? facts.user : (groups[Number(path[0])] ?? '')
    case 'said':
      return facts.said
    case 'result':
      return within(facts.results.at(-1)?.content ?? '', path)
    case 'result_of':
      return within(facts.calls.findLast(call => call.name === path[0])?.result ?? '', path.slice(1))
    case 'tools':
      return facts.tools.join(', ')
    case 'model':
      return facts.model
    case 'turn':
      return String(facts.turn)
    default:
      return String(facts.step)
  }
}

function within(text: string, path: readonly string[]): string {
  if (path.length === 0) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A result that is not JSON has no paths; by definition the value is empty.
    return ''
  }
  for (const key of path)
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  return value === undefined || value === null
    ? ''
    : typeof value === 'string'
      ? value.trimEnd()
      : JSON.stringify(value)
}
