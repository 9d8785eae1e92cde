/** Slack: the Events API or Socket Mode in, the Web API out. docs/channels/slack.md has the setup. */
import type { WebClient } from '@slack/web-api'
import type { Adapter, Webhook } from '../adapter.ts'
import { createClient } from './client.ts'
import { fetchFile, type Target } from './files.ts'
import { SLACK_LIMITS } from './limits.ts'
import { findKey, post, update } from './messages.ts'
import { challengeOf, type ParseOptions, parsePayload, readBody } from './parse.ts'
import { verifySignature } from './signature.ts'
import { consumeSocket } from './socket.ts'
import { threadBefore } from './thread.ts'

export type SlackOptions = ParseOptions & {
  connectionId: string
  botToken: string
  /** For the Events API. */
  signingSecret: string | null
  /** For Socket Mode. */
  appToken: string | null
  apiUrl: string
  now: () => number
}

export function createSlackAdapter(options: SlackOptions): Adapter {
  const { botToken, signingSecret, appToken, now } = options
  const client = (signal: AbortSignal): WebClient => createClient(botToken, options, signal)
  return {
    platform: 'slack',
    // Each event names its own workspace: a connection may have users of several.
    workspace: options.connectionId,
    limits: SLACK_LIMITS,
    delivery: 'reconciled',
    hasStopButton: true,
    webhook: signingSecret === null ? null : createWebhook(signingSecret, options),
    ...(appToken === null
      ? {}
      : {
          consume: consuming =>
            consumeSocket(appToken, options, consuming, payload => parsePayload(payload, options)),
        }),
    address: to => ({ conversation_key: to, target: { channel: to } }),
    send: (part, key, signal) => post(client(signal), part, key, signal),
    edit: (messageId, part, signal) => update(client(signal), messageId, part),
    fetchFile: (file, mostBytes, signal) => fetchFile(options, file, mostBytes, signal),
    threadBefore: ({ target, source }, signal) => threadBefore(client(signal), target as Target, source.ts),
    find: (part, key, signal) => findKey(client(signal), part, key, now()),
  }
}

const createWebhook = (signingSecret: string, options: SlackOptions): Webhook => ({
  methods: ['POST'],
  bodyLimit: 1024 * 1024,
  verify({ raw, headers }) {
    verifySignature(signingSecret, raw, headers, options.now())
    const challenge = challengeOf(readBody(raw, headers))
    return challenge === null ? null : new Response(challenge, { headers: { 'content-type': 'text/plain' } })
  },
  parse: ({ raw, headers }) => parsePayload(readBody(raw, headers), options),
  // Empty, because Slack shows the response to a slash command.
  taken: () => new Response(null, { status: 200 }),
})
