/** Posts, edits and finds messages. Throws SendFailed. */
import { createHash } from 'node:crypto'
import type { WebClient } from '@slack/web-api'
import type { OutgoingPart } from '../adapter.ts'
import { blocksOf, fallbackText } from './blocks.ts'
import { failureOf } from './failures.ts'
import { type Target, uploadFile } from './files.ts'

const EVENT_TYPE = 'cairn_part'
const PAGE = 200
const MAX_PAGES = 10
/** One hour more than the time for which a part is retried. */
const LOOK_BACK_MS = 25 * 60 * 60_000

const targetOf = (part: OutgoingPart): Target => part.target as Target

type Method =
  | 'chat.postMessage'
  | 'chat.postEphemeral'
  | 'chat.update'
  | 'conversations.history'
  | 'conversations.replies'
/** Throws SendFailed. */
export async function ask(client: WebClient, method: Method, body: Record<string, unknown>): Promise<object> {
  try {
    return await client.apiCall(method, body)
  } catch (error) {
    throw failureOf(error)
  }
}

export async function post(
  client: WebClient,
  part: OutgoingPart,
  key: string,
  signal: AbortSignal,
): Promise<{ message_id: string | null }> {
  const { channel, thread_ts } = targetOf(part)
  if (part.file !== undefined) {
    await uploadFile(client, part, part.file, targetOf(part), signal)
    return { message_id: null }
  }
  const body = {
    channel,
    ...(thread_ts === undefined ? {} : { thread_ts }),
    text: fallbackText(part),
    blocks: blocksOf(part),
    unfurl_links: false,
    unfurl_media: false,
  }
  const user = part.reply?.['user']
  if (typeof user === 'string') {
    // Visible to that person only, and not recoverable.
    await ask(client, 'chat.postEphemeral', { ...body, user })
    return { message_id: null }
  }
  const posted = await ask(client, 'chat.postMessage', {
    ...body,
    // Missing in Slack's types, although its lists of errors mention it; `findKey` relies on the metadata
    // instead.
    client_msg_id: uuidOf(key),
    metadata: { event_type: EVENT_TYPE, event_payload: { key } },
  })
  return { message_id: 'ts' in posted ? String(posted.ts) : null }
}

export async function update(client: WebClient, ts: string, part: OutgoingPart): Promise<void> {
  // Blocks that are omitted in an update remain.
  const blocks = blocksOf(part) ?? []
  await ask(client, 'chat.update', { channel: targetOf(part).channel, ts, text: fallbackText(part), blocks })
}

/** The message with this key in its metadata. `now` in epoch milliseconds. */
export async function findKey(
  client: WebClient,
  part: OutgoingPart,
  key: string,
  now: number,
): Promise<string | null> {
  const { channel, thread_ts } = targetOf(part)
  let cursor = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const asked = {
      channel,
      oldest: String((now - LOOK_BACK_MS) / 1000),
      include_all_metadata: true,
      limit: PAGE,
      ...(cursor === '' ? {} : { cursor }),
    }
    const answer = (await (thread_ts === undefined
      ? ask(client, 'conversations.history', asked)
      : ask(client, 'conversations.replies', { ...asked, ts: thread_ts }))) as Page
    const found = answer.messages?.find(({ metadata }) => metadata?.event_payload?.['key'] === key)
    if (found !== undefined) return found.ts
    cursor = answer.response_metadata?.next_cursor ?? ''
    if (cursor === '') break
  }
  return null
}

type Page = {
  messages?: { ts: string; metadata?: { event_payload?: Record<string, unknown> } }[]
  response_metadata?: { next_cursor?: string }
}

/** A UUID of version 5, derived from the key. */
function uuidOf(key: string): string {
  const hex = createHash('sha256').update(`slack/${key}`).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ]
  return parts.join('-')
}
