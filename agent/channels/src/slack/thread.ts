/** The context of a mention in a thread: its first message, and the newest ones before the mention. */
import type { WebClient } from '@slack/web-api'
import type { Target } from './files.ts'
import { ask } from './messages.ts'
import { shownText } from './content.ts'
import { type ThreadMessage, ThreadMessages } from './payloads.ts'

const REPLIES = 20
const MAX_BYTES = 8 * 1024
const PAGE = 200
const MAX_PAGES = 10

type Page = { messages?: unknown[]; response_metadata?: { next_cursor?: string } }

/** `ts`: of the mention. Null if there are no earlier messages. Throws SendFailed. */
export async function threadBefore(
  client: WebClient,
  { channel, thread_ts }: Target,
  ts: string,
): Promise<string | null> {
  if (thread_ts === undefined || thread_ts === ts) return null
  const said: ThreadMessage[] = []
  let cursor = ''
  // Slack returns the oldest messages first.
  for (let page = 0; page < MAX_PAGES; page++) {
    const asked = { channel, ts: thread_ts, latest: ts, limit: PAGE, ...(cursor === '' ? {} : { cursor }) }
    const answer = (await ask(client, 'conversations.replies', asked)) as Page
    said.push(...ThreadMessages.parse(answer.messages).filter(message => message.ts < ts))
    cursor = answer.response_metadata?.next_cursor ?? ''
    if (cursor === '') break
  }
  return quoteThread(said)
}

/** One line per message, at most 8 KB: the oldest replies are dropped first. */
export function quoteThread(
  said: readonly (Pick<ThreadMessage, 'text'> & Partial<ThreadMessage>)[],
): string | null {
  const lines = said.flatMap(message => {
    const { user, username, bot_id } = message
    const shown = shownText(message)
    return shown === '' ? [] : [`[${username ?? user ?? bot_id ?? 'somebody'}] ${shown}`]
  })
  const [root, ...others] = lines
  if (root === undefined) return null
  const replies = others.slice(-REPLIES)
  const quoted = (): string => [root, ...replies].join('\n')
  while (replies.length > 0 && Buffer.byteLength(quoted()) > MAX_BYTES) replies.shift()
  const bytes = Buffer.from(quoted())
  return bytes.length <= MAX_BYTES
    ? quoted()
    : new TextDecoder().decode(bytes.subarray(0, MAX_BYTES)).replace(/\ufffd$/, '')
}
