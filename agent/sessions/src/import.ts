/**
 * Imports conversations that another program recorded (decision 81). As in a fork, the log has them in
 * `history` of user.message events, part by part. The session's id derives from the source, and each part
 * states its position and the hash of everything up to its end, so a repeated request adds nothing.
 */
import { createHash } from 'node:crypto'
import { type LogStore, CommitRefused, type SessionRow } from '@cairn/log'
import {
  AppError,
  decodeEvent,
  type EventId,
  type ImportedMessage,
  type ImportPart,
  type ImportStamp,
  plural,
  type Principal,
} from '@cairn/protocol'
import { IMPORT } from '@cairn/state'
import type { z } from 'zod'
import { createSession } from './create.ts'
import type { Deps } from './deps.ts'
import { derivedId } from './derived-id.ts'
import { syntheticMessage, TAKES_INPUT } from './events/messages.ts'
import { refusedAs } from './refusals.ts'

export type ImportRequest = z.output<typeof ImportPart> & { agents: readonly string[]; principal: Principal }
export type ImportedPart = {
  session: SessionRow | null
  added: number
  total: number
  sha256: string
  continued: boolean
}

/** The hash of a conversation from that of all messages but the last, and the last. Empty: no messages. */
export function chainHash(before: string, message: ImportedMessage): string {
  const calls =
    message.role === 'assistant'
      ? (message.tool_calls ?? []).map(({ id, function: call }) => [id, call.name, call.arguments])
      : []
  const answers = message.role === 'tool' ? message.tool_call_id : null
  const text = JSON.stringify([before, message.role, message.content, calls, answers])
  return createHash('sha256').update(text).digest('hex')
}

/** What a session's log has of its import. `last_work` is the last event that requests work. */
type Position = Pick<ImportedPart, 'total' | 'sha256' | 'continued'> & { last_work: EventId }
const NOTHING: Position = { total: 0, sha256: '', continued: false, last_work: 0 }

/** Each event has up to MAX_IMPORT_BYTES. */
const PAGE = 8

async function positionOf(store: LogStore, session: SessionRow): Promise<Position> {
  const { id, last_event_id } = session
  if (last_event_id === 0) return NOTHING
  // While parts arrive, the last event is one; else the messages are searched for the last part.
  const [newest] = await store.events.read(id, last_event_id - 1, 1)
  const direct = newest === undefined ? null : partOf(newest.json)
  if (direct !== null) return direct
  let found = NOTHING
  for (let after: EventId | undefined = 0; after !== undefined;) {
    const page = await store.events.read(id, after, PAGE, ['user.message'])
    for (const event of page) {
      const part = partOf(event.json)
      found = part ?? { ...found, continued: true, last_work: event.id }
    }
    after = page.length < PAGE ? undefined : page.at(-1)?.id
  }
  return found
}

function partOf(json: string): Position | null {
  const event = decodeEvent(json)
  if (event.type !== 'user.message' || event.data.synthetic !== IMPORT) return null
  const { imported, history = [] } = event.data
  return imported === undefined
    ? null
    : {
        total: imported.first + history.length,
        sha256: imported.sha256,
        continued: false,
        last_work: event.id,
      }
}

/**
 * Adds the messages that the session lacks. Without messages it only reads. Two requests at the same time
 * add each message once: the later commit is rejected and starts over.
 */
export async function importPart(deps: Deps, part: ImportRequest): Promise<ImportedPart> {
  const { store } = deps
  requireSettled(part.messages)
  const id = derivedId(part.principal.org_id, part.principal.id, 'import', part.format, part.source_id)
  for (let tries = 0; ; tries++) {
    const existing = await store.sessions.get(id)
    const position = existing === null ? NOTHING : await positionOf(store, existing)
    const { total, sha256, continued } = position
    const missing = part.messages.slice(Math.max(0, total - part.first))
    if (missing.length === 0) return { session: existing, added: 0, total, sha256, continued }
    if (part.first > total) throw gap(part.first, total)
    if (continued) throw wentOn(id)
    const session = existing ?? (await create(deps, id, part))
    const hash = missing.reduce(chainHash, sha256)
    try {
      const { session: grown } = await store.commit({
        session_id: id,
        events: [drafted(part, missing, total, hash)],
        expect_status: TAKES_INPUT,
        expect_no_work_after: position.last_work,
        // Nothing to do: the session is at rest.
        cursor: 'self',
      })
      return {
        session: grown,
        added: missing.length,
        total: total + missing.length,
        sha256: hash,
        continued: false,
      }
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      if (error.refusal !== 'new_work' || tries >= 3) throw refusedAs('import into', session.id, error)
    }
  }
}

const create = (
  deps: Deps,
  id: string,
  { agents, agent, title, system, principal }: ImportRequest,
): Promise<SessionRow> =>
  createSession(deps, agents, {
    id,
    principal,
    channel: IMPORT,
    ...(agent === undefined ? {} : { agent }),
    ...(title === undefined ? {} : { title }),
    ...(system === undefined ? {} : { config: { system } }),
  })

function drafted(
  { format, source_id, tool_version, parent_source_id }: ImportRequest,
  history: readonly ImportedMessage[],
  first: number,
  sha256: string,
) {
  const imported: ImportStamp = {
    format,
    source_id,
    first,
    sha256,
    ...(tool_version === undefined ? {} : { tool_version }),
    ...(parent_source_id === undefined ? {} : { parent_source_id }),
  }
  const text = `${plural(history.length, 'message')} imported from ${format} ${source_id}.`
  return syntheticMessage(IMPORT, text, { imported, history: [...history] })
}

/** Model servers reject a call without a result, and a result without its call. */
function requireSettled(messages: readonly ImportedMessage[]): void {
  const open = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id))
        throw invalid(at, `result of unknown call ${JSON.stringify(message.tool_call_id)}`)
      continue
    }
    if (open.size > 0) throw invalid(at, `call ${JSON.stringify([...open][0])} has no result before it`)
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) open.add(id)
  }
  if (open.size > 0) throw invalid(messages.length - 1, `call ${JSON.stringify([...open][0])} has no result`)
}

const invalid = (at: number, message: string): AppError =>
  new AppError('invalid_body', `messages.${at}: ${message}`, {
    extra: { errors: [{ path: `messages.${at}`, message }] },
  })

const gap = (first: number, total: number): AppError =>
  new AppError(
    'wrong_state',
    `Invalid first ${first}: only ${plural(total, 'message')} imported so far. Send the messages from there.`,
  )

const wentOn = (id: string): AppError =>
  new AppError(
    'wrong_state',
    `Session ${id} continued after its import, so later messages of its source cannot be added.`,
  )
