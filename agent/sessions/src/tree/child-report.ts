/**
 * What a child leaves to its parent, read from the child's log: its result, its usage, the files it wrote.
 */
import type { Link, LogStore, SeenLog, SessionRow } from '@cairn/log'
import { decodeEvent, type EventData, type SessionEvent, typesWith } from '@cairn/protocol'

/** The tool with which a child reports its result. */
export const COMPLETE_TOOL = 'worker_complete'

export type ChildReport = {
  /** The result passed to worker_complete, otherwise the last answer; empty if there is neither. */
  result: string
  metadata?: Record<string, unknown>
  iterations: number
  duration_seconds: number
  /** Usage of the child and its ended descendants. */
  input_tokens: number
  output_tokens: number
  cost_usd: number
  files_written: string[]
  files_read: string[]
  /** Its tool calls, in order. */
  trace: { name: string; ok: boolean; tool_call_id: string }[]
  artifacts: NonNullable<EventData<'worker.complete'>['artifacts']>
}

/** Tokens and cost of a session and its subtree. */
export type Usage = Pick<ChildReport, 'input_tokens' | 'output_tokens' | 'cost_usd'>
export const noUsage = (): Usage => ({ input_tokens: 0, output_tokens: 0, cost_usd: 0 })

export function addUsage(sum: Usage, { input_tokens, output_tokens, cost_usd }: Usage): void {
  sum.input_tokens += input_tokens
  sum.output_tokens += output_tokens
  // Rounded: a sum of floats has spurious digits.
  sum.cost_usd = Number((sum.cost_usd + cost_usd).toFixed(10))
}

/** The state of the log that a report was made from, for the guard of its commit. */
export const seenOf = ({ input_tokens, output_tokens, tool_call_count }: SessionRow): SeenLog => ({
  input_tokens,
  output_tokens,
  tool_call_count,
})

const READ = typesWith('reported')
const PAGE = 500
const WRITES = new Set(['write_file', 'edit_file'])
/** Maximum number of files named in an outcome. */
export const MAX_FILES = 200
const MAX_ARTIFACTS = 20
const MAX_METADATA = 4096

export async function reportOf(
  store: LogStore,
  child: SessionRow,
  link: Link,
  now: number,
): Promise<ChildReport> {
  const fold = startFold()
  for (let after = 0; ;) {
    const page = await store.events.read(child.id, after, PAGE, READ)
    for (const { json } of page) foldEvent(fold, decodeEvent(json))
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) break
    after = last.id
  }
  const below = await store.links.children(child.id)
  const sum = (of: (link: Link) => number): number => below.reduce((total, each) => total + of(each), 0)
  const { completed, answer, iterations, files } = fold
  return {
    result: completed?.summary ?? answer,
    ...(completed?.metadata === undefined ? {} : { metadata: completed.metadata }),
    iterations,
    duration_seconds: Math.max(0, now - link.opened_at) / 1000,
    input_tokens: child.input_tokens + sum(each => each.input_tokens),
    output_tokens: child.output_tokens + sum(each => each.output_tokens),
    cost_usd: Number((child.cost_usd + sum(each => each.cost_usd)).toFixed(10)),
    files_written: [...files].slice(0, MAX_FILES),
    files_read: [...fold.read].slice(0, MAX_FILES),
    trace: [...fold.trace.values()],
    artifacts: (await store.artifacts.list(child.id))
      .slice(-MAX_ARTIFACTS)
      .map(({ artifact_id, name, kind }) => ({ artifact_id, name, kind })),
  }
}

type Completed = { summary: string; metadata?: Record<string, unknown> }
type Fold = {
  answer: string
  iterations: number
  files: Set<string>
  read: Set<string>
  trace: Map<string, { name: string; ok: boolean; tool_call_id: string }>
  /** Calls of worker_complete without a result so far. */
  claimed: Map<string, Completed>
  completed: Completed | null
}
const startFold = (): Fold => ({
  answer: '',
  iterations: 0,
  files: new Set(),
  read: new Set(),
  trace: new Map(),
  claimed: new Map(),
  completed: null,
})

function foldEvent(fold: Fold, event: SessionEvent): void {
  if (event.type === 'llm.response') {
    if (event.data.turn_id === undefined) return
    fold.iterations += 1
    const text = event.data.message.content.trim()
    if (text !== '') fold.answer = text
  } else if (event.type === 'tool.call') {
    const { name, arguments: given, tool_call_id } = event.data
    fold.trace.set(tool_call_id, { name, ok: false, tool_call_id })
    if (name === 'read_file' && typeof given['path'] === 'string') fold.read.add(given['path'])
    if (WRITES.has(name) && typeof given['path'] === 'string') fold.files.add(given['path'])
    if (name === COMPLETE_TOOL && typeof given['summary'] === 'string')
      fold.claimed.set(tool_call_id, { summary: given['summary'], ...metadataOf(given['metadata']) })
  } else if (event.type === 'tool.result') {
    const { tool_call_id, content } = event.data
    const made = fold.trace.get(tool_call_id)
    if (made !== undefined) made.ok = !content.startsWith('{"error"')
    const claimed = fold.claimed.get(tool_call_id)
    if (claimed !== undefined && isAccepted(content)) fold.completed = claimed
  }
}

/** The result of an accepted call of worker_complete. */
export const ACCEPTED = { status: 'complete' } as const
export const isAccepted = (content: string): boolean => content === JSON.stringify(ACCEPTED)

const metadataOf = (given: unknown): { metadata?: Record<string, unknown> } =>
  typeof given === 'object' &&
  given !== null &&
  !Array.isArray(given) &&
  JSON.stringify(given).length <= MAX_METADATA
    ? { metadata: given as Record<string, unknown> }
    : {}
