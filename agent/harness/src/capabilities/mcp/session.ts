/** One session with an MCP server, from opening and listing its tools until it closes. */
import { Client, type Transport } from '@modelcontextprotocol/client'
import type { McpServerConfig } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import { rootCause } from '../../tools/root-cause.ts'
import { createCurrentCalls, type CurrentCalls } from './current-call.ts'
import { elicit } from './elicitation.ts'
import { type Era, negotiationOf } from './era.ts'
import { followChanges } from './follow-changes.ts'
import { TASKS } from './follow-task.ts'
import { listTools, type ToolList } from './list-tools.ts'
import { keepRawResults } from './protocol-results.ts'
import { type Opened, openTransport, type TransportOptions } from './transport.ts'
import { within } from './within.ts'

const REQUEST_TIMEOUT_MS = 10_000
/** Covers connecting and listing all tools. */
const OPEN_TIMEOUT_MS = 60_000

export type McpSession = Opened & { client: Client; calls: CurrentCalls }

/** Callbacks about a session while it lasts. */
export type SessionListener = {
  /** Called before it connects: closing the client aborts that. */
  onOpening(client: Client): void
  onClosed(session: McpSession, why: string): void
  onToolsChanged(session: McpSession): void
}

export type SessionOptions = TransportOptions & {
  /** The protocol's generation that the server had the last time; undefined: unknown. */
  era?: Era | undefined
}

/** Rejects with the reason why it did not open, and the server's last output. */
export async function openSession(
  name: string,
  config: McpServerConfig,
  options: SessionOptions,
  listener: SessionListener,
): Promise<{ session: McpSession; list: ToolList }> {
  const opened = await openTransport(name, config, options)
  const { clock } = options
  const client = new Client(
    { name: 'cairn-agent', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, extensions: { [TASKS]: {} } },
      versionNegotiation: { mode: negotiationOf(config, options.era) },
      // The call answers them, because it knows whom to ask (request.ts).
      inputRequired: { autoFulfill: false },
    },
  )
  const calls = createCurrentCalls()
  const session: McpSession = { ...opened, client, calls }
  let closed = false
  let complaint = ''
  let stopFollowing = (): void => undefined
  listener.onOpening(client)
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is not an EventTarget
  client.onerror = error => {
    complaint = error.message
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  client.onclose = () => {
    closed = true
    stopFollowing()
    listener.onClosed(session, complaint || 'the connection closed')
  }
  client.setNotificationHandler('notifications/tools/list_changed', () => listener.onToolsChanged(session))
  client.setRequestHandler('elicitation/create', ({ params }, { mcpReq: { signal } }) =>
    elicit(name, params, calls.current()?.ask, signal),
  )
  // The SDK's timeout covers the answer to `initialize`, not the notification after it.
  async function connectAndList(): Promise<ToolList> {
    await client.connect(keepRawResults(limitReplies(opened.transport, clock)), {
      timeout: REQUEST_TIMEOUT_MS,
    })
    return listTools(client)
  }
  try {
    const list = await within(clock, OPEN_TIMEOUT_MS, 'opening a session', connectAndList())
    if (closed) throw new Error(complaint || 'the connection closed at once')
    stopFollowing = followChanges(client, clock, () => listener.onToolsChanged(session))
    return { session, list }
  } catch (error) {
    await client.close()
    const said = opened.lastWords()
    throw new Error(`${rootCause(error).message}${said === '' ? '' : `; its output: ${said}`}`, {
      cause: error,
    })
  }
}

const REPLY_BURST = 100
const REPLY_EVERY_MS = 1000

/**
 * Limits the answers to a server's requests (ping, roots). Without a limit, endless requests would cause as
 * many HTTP requests to the server, or a growing input buffer of a server that does not read; answers above
 * the rate are not sent.
 */
function limitReplies<T extends Transport>(transport: T, clock: Clock): T {
  const send = transport.send.bind(transport)
  let spentUntil = Number.NEGATIVE_INFINITY
  transport.send = (message, options) => {
    if ('method' in message) return send(message, options)
    const now = clock.monotonic()
    spentUntil = Math.max(spentUntil, now - REPLY_BURST * REPLY_EVERY_MS) + REPLY_EVERY_MS
    if (spentUntil <= now) return send(message, options)
    spentUntil -= REPLY_EVERY_MS
    return Promise.resolve()
  }
  return transport
}
