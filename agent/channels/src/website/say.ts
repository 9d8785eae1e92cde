/**
 * What a visitor says: a row, and the message in the commit that marks it accepted, before they are answered.
 */
import { createHash } from 'node:crypto'
import { type ChannelVisitor, CommitRefused, type InboundRow } from '@cairn/log'
import { AppError, type ChannelSource } from '@cairn/protocol'
import { addMessage, findRequest } from '@cairn/sessions'
import type { ChannelDeps, Connection } from '../deps.ts'
import { accountOf, isFlooding, isIgnored } from '../speaker.ts'
import { shortId, visitorKey } from './visitor.ts'

export type Said = {
  session_id: string
  content: string
  /** Of the request: the same message once. */ key: string
}
type Taken = { event_id: number; taken_as: 'message' | 'answer' }

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export async function sayAs(
  deps: ChannelDeps,
  connection: Connection,
  visitor: ChannelVisitor,
  { session_id, content, key }: Said,
): Promise<Taken> {
  const { store, now } = deps
  const conversation_key = visitorKey(visitor)
  const event_key = sha256(`${conversation_key}/${session_id}/${key}`)
  const request_key = sha256(`${connection.id}/${event_key}`)
  const sender = { id: conversation_key, name: visitor.name }
  const row = await rowOf()
  if (row.state === 'accepted') return landed()
  const seen = await store.channels.seeSender(connection.id, sender.id, sender.name)
  if (isIgnored(seen, now())) throw new AppError('forbidden', 'This conversation takes no messages of yours.')
  const speaker = { principal: accountOf(connection), isLinked: false, isProven: true, sender: seen }
  if (await isFlooding(store.channels, speaker, row))
    throw new AppError('rate_limited', 'That is more than can be taken at once. Try again later.')
  const message = {
    session_id,
    content,
    principal: speaker.principal,
    source: sourceOf(),
    request_key,
    rows: [{ do: 'channel.accept', seq: row.seq }] as const,
    stop_reason: 'channel_stop',
  }
  try {
    return taken(await addMessage(deps, message))
  } catch (thrown) {
    if (refusalOf(thrown) === 'already_accepted') return landed()
    if (!(thrown instanceof AppError) || thrown.code !== 'question_open') throw thrown
    // What is no answer is a message of its own, and ends the waiting.
    return taken(await addMessage(deps, { ...message, on_question: 'pass_over' }))
  }

  /** Found where an earlier request with this key died. */
  async function rowOf(): Promise<InboundRow> {
    const body = JSON.stringify({ session_id })
    await store.channels.receive({
      connection_id: connection.id,
      event_key,
      conversation_key,
      sender: sender.id,
      body,
    })
    const row = await store.channels.inboundOf(connection.id, event_key)
    if (row === null) throw new Error('[sayAs] the store has not kept the row that it acknowledged')
    return row
  }
  async function landed(): Promise<Taken> {
    const found = await findRequest(deps, session_id, request_key)
    if (found === null) throw new AppError('wrong_state', 'A message with this Idempotency-Key was refused.')
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

const taken = ({ message_id, type }: { message_id: number; type: string }): Taken => ({
  event_id: message_id,
  taken_as: type === 'ask_user_question.response' ? 'answer' : 'message',
})

function refusalOf(thrown: unknown): string | null {
  const refused = thrown instanceof AppError ? thrown.cause : thrown
  return refused instanceof CommitRefused ? refused.refusal : null
}
