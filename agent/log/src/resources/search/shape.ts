/**
 * The shape of a session: what its time went to, as at most 64 stretches, and the last thing it did. A list
 * draws it without reading events. Pure: a fold of the indexed events in order.
 */
import type { EventType } from '@cairn/protocol'
import { factsOf, type LastStep, type SessionShape, type ShapeKind, typesWith } from '@cairn/protocol/words'

export type ShapeState = {
  /** What the time went to, in milliseconds, oldest first. */
  stretches: [ShapeKind, number][]
  /** The current activity, which began at `since`; null: none. */
  current: ShapeKind | null
  /** Epoch milliseconds. */
  since: number
  /** Calls without a result, oldest first: calls of one response run at the same time. */
  open: [tool_call_id: string, kind: ShapeKind][]
  step: LastStep | null
  /** Why the session failed; null: it did not, or it continued since. */
  failure: { category: string; error: string } | null
}

type Data = Readonly<Record<string, unknown>>

export const MAX_STRETCHES = 64
/** Open calls that are kept; a turn that was cut off leaves some behind. */
const MAX_OPEN = 32
/** Characters of a text or an argument that are kept. */
const MAX_CHARS = 200
const MAX_ARGUMENTS = 12

export const emptyShape: ShapeState = {
  stretches: [],
  current: null,
  since: 0,
  open: [],
  step: null,
  failure: null,
}

/** Tools that work with child sessions. */
const WORKER_TOOLS: ReadonlySet<unknown> = new Set([
  'spawn_worker',
  'delegate_task',
  'wait_for_workers',
  'research_branch',
  'run_coding_agent',
])

function kindOfTool(name: unknown): ShapeKind {
  if (WORKER_TOOLS.has(name)) return 'worker'
  return typeof name === 'string' && name.startsWith('browser_') ? 'browser' : 'tool'
}

/** No activity follows them, unless a person is awaited. */
const ENDS: ReadonlySet<EventType> = new Set(typesWith('shape', 'end'))
/** They end any activity, a wait for a person included. */
const HALTS: ReadonlySet<EventType> = new Set(typesWith('shape', 'halt'))

/** Types that the shape is folded from. */
export const SHAPE_TYPES: readonly EventType[] = typesWith('shape')

const clipped = (text: string): string => text.slice(0, MAX_CHARS)

/** The arguments that name the object of a call. Lists keep their first entries only. */
function clippedArguments(given: unknown): Record<string, unknown> {
  if (typeof given !== 'object' || given === null) return {}
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(given).slice(0, MAX_ARGUMENTS)) {
    if (typeof value === 'string') kept[key] = clipped(value)
    else if (typeof value === 'number' || typeof value === 'boolean') kept[key] = value
    else if (JSON.stringify(value).length <= MAX_CHARS * 5) kept[key] = value
  }
  return kept
}

function stepOf(type: EventType, data: Data): LastStep | null {
  if (type === 'tool.call' && typeof data['name'] === 'string')
    return { tool: data['name'], arguments: clippedArguments(data['arguments']) }
  if (type !== 'llm.response') return null
  const { content } = (data['message'] ?? {}) as { content?: unknown }
  return typeof content === 'string' && content.trim() !== ''
    ? { text: clipped(content.trim().replaceAll(/\s+/g, ' ')) }
    : null
}

/** The content of a failed call is an object with an `error`. */
const isFailure = (data: Data): boolean =>
  typeof data['content'] === 'string' && /^\s*\{\s*"error"\s*:/.test(data['content'])

/** Adds a stretch; above the maximum, the two neighbours that take the least time become one. */
function append(
  stretches: readonly [ShapeKind, number][],
  kind: ShapeKind,
  ms: number,
): [ShapeKind, number][] {
  // A failure is visible whatever time it took.
  if (ms === 0 && kind !== 'failed') return [...stretches]
  const last = stretches.at(-1)
  if (last?.[0] === kind) return [...stretches.slice(0, -1), [kind, last[1] + ms]]
  const grown: [ShapeKind, number][] = [...stretches, [kind, ms]]
  while (grown.length > MAX_STRETCHES) {
    let shortest = 1
    const together = (at: number): number => (grown[at - 1]?.[1] ?? 0) + (grown[at]?.[1] ?? 0)
    for (let at = 2; at < grown.length; at++) if (together(at) < together(shortest)) shortest = at
    const [first, second] = grown.slice(shortest - 1, shortest + 1)
    if (first === undefined || second === undefined) break
    const longer = second[1] > first[1] ? second[0] : first[0]
    grown.splice(shortest - 1, 2, [longer, first[1] + second[1]])
    // The merged stretch may now have a neighbour of its own kind.
    for (let at = grown.length - 1; at > 0; at--)
      if (grown[at]?.[0] === grown[at - 1]?.[0])
        grown.splice(at - 1, 2, [grown[at]?.[0] ?? longer, together(at)])
  }
  return grown
}

/** The activity after an event; `undefined` if it does not change. */
function kindAfter(current: ShapeKind | null, type: EventType, data: Data): ShapeKind | null | undefined {
  if (type === 'llm.request') return 'model'
  if (type === 'tool.call') return kindOfTool(data['name'])
  // Nothing waits for a proposal.
  if (factsOf(type).asks !== undefined) return data['proposal'] === undefined ? 'wait' : undefined
  if (ENDS.has(type)) return current === 'wait' ? undefined : null
  if (HALTS.has(type) || type === 'session.fail') return null
  return undefined
}

/** Ends the current stretch, as `ended`, and begins the next. */
function begin(state: ShapeState, at: number, ended: ShapeKind | null, next: ShapeKind | null): void {
  if (ended !== null) {
    const ms = state.current === null ? 0 : Math.max(0, at - state.since)
    state.stretches = append(state.stretches, ended, ms)
  }
  state.current = next
  state.since = at
}

/**
 * A failed call is marked with the time that it took: the results of calls that ran at the same time are
 * recorded together.
 */
function endCall(state: ShapeState, at: number, data: Data): void {
  const ended = state.open.find(([id]) => id === data['tool_call_id'])
  if (ended === undefined) return
  state.open = state.open.filter(call => call !== ended)
  if (!isFailure(data)) return
  const since = Math.max(state.since, at - Math.max(0, Number(data['elapsed_ms']) || 0))
  begin(state, since, state.current, state.current)
  begin(state, at, 'failed', state.open.at(-1)?.[1] ?? ended[1])
}

/** `at` is the time of the event in epoch milliseconds. */
export function foldShape(state: ShapeState, at: number, type: EventType, data: Data): ShapeState {
  const next = { ...state }
  const step = stepOf(type, data)
  if (step !== null) next.step = step
  if (type === 'session.fail')
    next.failure = {
      category: String(data['error_category'] ?? ''),
      error: clipped(String(data['error'] ?? data['reason'] ?? '')),
    }
  else if (type === 'llm.request' || type === 'session.resume' || type === 'user.message') next.failure = null
  if (type === 'tool.call')
    next.open = [...next.open.slice(1 - MAX_OPEN), [String(data['tool_call_id']), kindOfTool(data['name'])]]
  else if (type === 'tool.result') endCall(next, at, data)
  else if (type === 'llm.request' || HALTS.has(type)) next.open = []
  const kind = kindAfter(next.current, type, data)
  if (kind === undefined || kind === next.current) return next
  begin(next, at, type === 'session.fail' ? 'failed' : next.current, kind)
  return next
}

/** The largest share of one wait in a drawing. */
const MAX_WAIT_SHARE = 0.12
/** The smallest share of a stretch, so that each one is visible. */
const MIN_SHARE = 0.004

/**
 * The stretches as shares that add up to about one; `now` is the time of the session's last change. Waits for
 * a person are folded, as everywhere.
 */
export function sharesOf({ stretches, current, since }: ShapeState, now: number): SessionShape {
  const all = current === null ? stretches : append(stretches, current, Math.max(0, now - since))
  const active = all.reduce((sum, [kind, ms]) => sum + (kind === 'wait' ? 0 : ms), 0)
  const longest = active === 0 ? Infinity : active * MAX_WAIT_SHARE
  const widths = all.map(([kind, ms]) => (kind === 'wait' ? Math.min(ms, longest) : ms))
  const least = widths.reduce((sum, ms) => sum + ms, 0) * MIN_SHARE || 1
  const drawn = widths.map(ms => Math.max(ms, least))
  const total = drawn.reduce((sum, ms) => sum + ms, 0)
  return all.map(([kind], at) => [kind, Math.round(((drawn[at] ?? 0) / total) * 1000) / 1000])
}
