/** The files that the calls in a range of events changed, from their checkpoints. Pure. */
import { type SessionEvent, toolError } from '@cairn/protocol'
import { FORK } from '@cairn/state'

export type Range = { from: number; through: number }
export type ChangedFile = {
  path: string
  /** The checkpoint of the file before the range. */
  before: string
  /** The checkpoint of the next change after the range; null: the current file. */
  after: string | null
  calls: number
  /** The last call in the range. */
  eventId: number
}

/** Ordered by their first change. A failed call changed nothing. */
export function changedFiles(events: readonly SessionEvent[], { from, through }: Range): ChangedFile[] {
  const failed = failedCalls(events)
  const files = new Map<string, ChangedFile>()
  for (const event of events) {
    if (event.type !== 'tool.call' || event.id < from) continue
    const { checkpoint_hash: hash, arguments: args, tool_call_id } = event.data
    if (hash === undefined || failed.has(tool_call_id)) continue
    const path = pathOf(args['path'])
    if (path === null) continue
    const known = files.get(path)
    if (event.id > through) {
      if (known && known.after === null) known.after = hash
    } else if (known) {
      known.calls += 1
      known.eventId = event.id
    } else files.set(path, { path, before: hash, after: null, calls: 1, eventId: event.id })
  }
  return [...files.values()]
}

export type RunChanges = {
  run_id: string
  agent: string
  files: readonly string[]
  /** Checkpoints of those files before and after the run; null: only their names are known. */
  between: { before: string; after: string } | null
  eventId: number
}

/** The changes of coding runs that ended in the range. */
export const runChanges = (events: readonly SessionEvent[], { from, through }: Range): RunChanges[] =>
  events.flatMap(event => {
    if (event.type !== 'code.run_result' || event.id < from || event.id > through) return []
    const { run_id, agent, files_changed: files = [], changes: between = null } = event.data
    return files.length === 0 ? [] : [{ run_id, agent, files, between, eventId: event.id }]
  })

/** The origin of a fork. Earlier changes, with their checkpoints, are in the log of that session. */
export function forkedFrom(events: readonly SessionEvent[]): { session_id: string; event_id: number } | null {
  const began = events.find(({ type }) => type === 'user.message')
  return began?.type === 'user.message' && began.data.synthetic === FORK
    ? (began.data.forked_from ?? null)
    : null
}

function failedCalls(events: readonly SessionEvent[]): ReadonlySet<string> {
  const failed = new Set<string>()
  for (const event of events)
    if (event.type === 'tool.result' && toolError(event.data.content) !== null)
      failed.add(event.data.tool_call_id)
  return failed
}

/** The path as checkpoints name it. */
function pathOf(given: unknown): string | null {
  if (typeof given !== 'string') return null
  const parts: string[] = []
  for (const part of given.replace(/^__WORKSPACE__\//, '').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}
