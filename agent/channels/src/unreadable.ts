/**
 * An event that does not have the shape that its platform documents. It is stored like any other and dropped
 * with its reason, which the service logs: the platform gets a 200 and does not send it again.
 */
import { createHash } from 'node:crypto'
import type { ChannelSource } from '@cairn/protocol'
import type { z } from 'zod'
import type { Inbound } from './adapter.ts'

const WHERE = 'unreadable'
const REASON_MAX = 200

export function unreadableEvent(platform: ChannelSource['platform'], payload: unknown, why: string): Inbound {
  const hash = createHash('sha256')
    .update(JSON.stringify(payload) ?? '')
    .digest('hex')
  return {
    event_key: `${WHERE}:${hash}`,
    conversation_key: WHERE,
    target: {},
    source: {
      platform,
      chat_id: WHERE,
      chat_type: 'dm',
      user_id: WHERE,
      user_name: null,
      thread_id: null,
      ts: hash.slice(0, 16),
    },
    text: '',
    ignore: `${WHERE}: ${why.slice(0, REASON_MAX)}`,
  }
}

/** The first difference from the schema, without any value of the payload. */
export function firstIssue({ issues }: z.ZodError): string {
  const [issue] = issues
  return issue === undefined ? 'unknown shape' : `${issue.path.join('.') || 'event'}: ${issue.message}`
}
