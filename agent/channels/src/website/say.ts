/**
 * Handles a visitor's message: a row, and the message in the commit that marks it accepted, before the
 * request is answered.
 */
import { createHash } from 'node:crypto'
import { type ChannelVisitor, CommitRefused, type InboundRow } from '@cairn/log'
import { AppError, type Attachment, type ChannelSource } from '@cairn/protocol'
import { addMessage, findRequest } from '@cairn/sessions'
import type { ChannelDeps, Connection } from '../deps.ts'
import { accountOf, isFlooding, isIgnored } from '../sender.ts'
import { shortId, visitorKey } from './visitor.ts'

export type Said = {
  session_id: string
  content: string
  attachments: Attachment[]
  /** Idempotency key of the request. */
  key: string
}
type Taken = { event_id: number; taken_as: 'message' | 'answer' }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export async function sayAs(
  deps: ChannelDeps,
  connection: Connection,
  visitor: ChannelVisitor,
  { session_id, content, attachments, key }: Said,
): Promise<Taken> {
  const conversation_key = visitorKey(visitor)
  const event_key = sha256(`${conversation_key}/${session_id}/${key}`)
  const request_key = sha256(`${connection.id}/${event_key}`)
  const row = await rowFor(deps, connection.id, visitor, { event_key, session_id })
  if (row.state === 'accepted') return landed()
  await checkLimits(deps, connection, visitor, row)
  const message = {
    session_id,
    content,
    ...(attachments.length === 0 ? {} : { attachments }),
    principal: accountOf(connection),
    source: sourceOf(),
    request_key,
    rows: [{ do: 'channel.accept', connection_id: row.connection_id, seq: row.seq }] as const,
    stop_reason: 'channel_stop',
    // A file without text does not answer a question.
    ...(content.trim() === '' ? { on_question: 'pass_over' as const } : {}),
  }
  try {
    return taken(await addMessage(deps, message))
  } catch (error) {
    if (refusalOf(error) === 'already_accepted') return landed()
    if (!(error instanceof AppError) || error.code !== 'question_open') throw error
    // Text that does not answer the question becomes a message of its own and closes the question.
    return taken(await addMessage(deps, { ...message, on_question: 'pass_over' }))
  }

  async function landed(): Promise<Taken> {
    const found = await findRequest(deps, session_id, request_key)
    if (found === null) throw new AppError('wrong_state', 'A message with this Idempotency-Key was rejected.')
    return taken({ message_id: found.id, type: found.type })
  }
  function sourceOf(): ChannelSource {
    const ts = `${Math.floor(row.received_at / 1000)}.${sha256(event_key).slice(0, 8)}`
    return {
      platform: 'website',
      chat_id: conversation_key,
      chat_type: 'dm',
      user_id: visitor.subject ?? shortId(visitor),
      user_name: visitor.name,
      thread_id: null,
      ts,
    }
  }
}

/** Counts an upload like a message. Throws AppError if it exceeds a limit. */
export async function countAs(
  deps: ChannelDeps,
  connection: Connection,
  visitor: ChannelVisitor,
  session_id: string,
): Promise<void> {
  const row = await rowFor(deps, connection.id, visitor, { event_key: deps.newId(), session_id })
  await deps.store.channels.dropInbound(row, 'upload')
  await checkLimits(deps, connection, visitor, row)
}

const taken = ({ message_id, type }: { message_id: number; type: string }): Taken => ({
  event_id: message_id,
  taken_as: type === 'ask_user_question.response' ? 'answer' : 'message',
})

function refusalOf(thrown: unknown): string | null {
  const refused = thrown instanceof AppError ? thrown.cause : thrown
  return refused instanceof CommitRefused ? refused.refusal : null
}

/** Also finds the row of an earlier request with this key that died. */
async function rowFor(
  { store: { channels } }: ChannelDeps,
  connection_id: string,
  visitor: ChannelVisitor,
  { event_key, session_id }: { event_key: string; session_id: string },
): Promise<InboundRow> {
  const conversation_key = visitorKey(visitor)
  const body = JSON.stringify({ session_id })
  await channels.receive({ connection_id, event_key, conversation_key, sender: conversation_key, body })
  const row = await channels.inboundOf(connection_id, event_key)
  if (row === null) throw new Error('[rowFor] the store did not keep the row that it acknowledged')
  return row
}

/** Throws AppError if the visitor is blocked, or had exceeded a limit when the row arrived. */
async function checkLimits(
  { store, now }: ChannelDeps,
  connection: Connection,
  visitor: ChannelVisitor,
  row: InboundRow,
): Promise<void> {
  const sender = await store.channels.seeSender(connection.id, visitorKey(visitor), visitor.name)
  if (isIgnored(sender, now())) throw new AppError('forbidden', 'This conversation does not accept messages.')
  const speaker = { principal: accountOf(connection), isLinked: false, isProven: true, sender }
  if (await isFlooding(store.channels, speaker, row))
    throw new AppError('rate_limited', 'Too many messages. Try again later.')
}
