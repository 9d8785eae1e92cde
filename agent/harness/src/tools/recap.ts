/**
 * One-line recaps and the list of a turn's artifacts, derived from its calls. Deterministic: no model is
 * called, so a recap costs nothing, is the same after a crash, and never delays a turn.
 */
import type { TurnState } from '@cairn/state'
import { clip, type EventData } from '@cairn/protocol'

export type RecapCall = {
  name: string
  arguments: Record<string, unknown>
  /** The call failed or was refused. */ failed?: boolean
}
export type FinishedCall = TurnState['calls'][number]
export type TurnArtifact = EventData<'turn.summary'>['artifacts'][number]

const PHRASE: Record<string, { verb: string; argument: string }> = {
  read_file: { verb: 'read', argument: 'path' },
  write_file: { verb: 'write', argument: 'path' },
  edit_file: { verb: 'edit', argument: 'path' },
  list_files: { verb: 'list', argument: 'path' },
  search_files: { verb: 'search for', argument: 'pattern' },
  terminal: { verb: 'run', argument: 'command' },
  web_fetch: { verb: 'fetch', argument: 'url' },
  create_artifact: { verb: 'create', argument: 'name' },
}
const PLAIN: Record<string, string> = {
  ask_user_question: 'ask the user',
  request_user_action: 'ask the user to act',
  todo: 'update the plan',
}
const SHOWN_CALLS = 3
const ARGUMENT_MAX = 60

const phrase = (call: RecapCall): string => (call.failed === true ? `try to ${deed(call)}` : deed(call))

function deed({ name, arguments: args }: RecapCall): string {
  const known = PHRASE[name]
  if (!known) return PLAIN[name] ?? `call ${name}`
  const value = args[known.argument]
  return typeof value === 'string' && value !== ''
    ? `${known.verb} ${clip(value.replaceAll(/\s+/g, ' '), ARGUMENT_MAX)}`
    : `call ${name}`
}

/** "Read a.ts, edit b.ts and run npm test": imperative, on one line. */
export function recapCalls(calls: readonly RecapCall[]): string {
  const phrases = [...new Set(calls.map(phrase))]
  const shown = phrases.slice(0, SHOWN_CALLS)
  const rest = phrases.length - shown.length
  const parts = rest > 0 ? [...shown, `${rest} more`] : shown
  const text = parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}` : (parts[0] ?? '')
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

export function recapIteration(calls: readonly RecapCall[], empty: boolean): string {
  if (calls.length > 0) return recapCalls(calls)
  return empty ? 'Give an empty answer' : 'Answer the user'
}

export const recapTurn = (calls: readonly FinishedCall[]): string =>
  calls.length > 0 ? recapCalls(calls.map(parseCall)) : 'Answer the user'

export const parseCall = ({
  name,
  arguments: text,
  content,
}: Pick<FinishedCall, 'name' | 'arguments' | 'content'>): RecapCall => ({
  name,
  arguments: parseObject(text) ?? {},
  failed: isFailure(content),
})

/** Files that were written and artifacts that were created, without duplicates. */
export function listArtifacts({ calls, artifacts }: Pick<TurnState, 'calls' | 'artifacts'>): TurnArtifact[] {
  const files = calls
    .filter(call => (call.name === 'write_file' || call.name === 'edit_file') && !isFailure(call.content))
    .map(call => parseCall(call).arguments['path'])
  const paths = [...new Set(files.filter(path => typeof path === 'string'))]
  return [
    ...paths.map((path): TurnArtifact => ({
      kind: 'file',
      label: path.slice(path.lastIndexOf('/') + 1),
      ref: path,
    })),
    ...artifacts.map(({ artifact_id, name }): TurnArtifact => ({
      kind: 'artifact',
      label: name,
      ref: artifact_id,
    })),
  ]
}

/** A failed or refused call: its content is an object with an `error` key (contract 13.1). */
export const isFailure = (content: string): boolean => parseObject(content)?.['error'] !== undefined

function parseObject(text: string): Record<string, unknown> | null {
  if (!text.startsWith('{')) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    // Text that happens to start with a brace is not an object.
    return null
  }
}
