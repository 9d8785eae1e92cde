/** One session with an MCP server: opened, its tools listed, until it closes. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import { rootCause } from '../tools/root-cause.ts'
import { limitReplies } from './limit-replies.ts'
import { listTools, type ToolList } from './list-tools.ts'
import { type Environment, type McpSandboxes, type Opened, openTransport } from './transport.ts'
import { within } from './within.ts'

const REQUEST_TIMEOUT_MS = 10_000
/** From the connection to the end of the list of tools. */
const OPEN_TIMEOUT_MS = 60_000

export type McpSession = Opened & { client: Client }

/** What is told of a session while it lasts. */
export type SessionListener = {
  /** It is about to connect: closing the client ends that. */
  onOpening(client: Client): void
  onClosed(session: McpSession, why: string): void
  onToolsChanged(session: McpSession): void
}

/** Rejects with why it did not open, and what the server said last. */
export async function openSession(
  name: string,
  config: McpServerConfig,
  around: { env: Environment; boxes: McpSandboxes; clock: Clock },
  listener: SessionListener,
): Promise<{ session: McpSession; list: ToolList }> {
  const opened = await openTransport(name, config, around)
  const client = new Client({ name: 'cairn-agent', version: '1.0.0' }, { capabilities: {} })
  const session: McpSession = { ...opened, client }
  let closed = false
  let complaint = ''
  listener.onOpening(client)
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is no EventTarget
  client.onerror = error => {
    complaint = error.message
  }
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
  client.onclose = () => {
    closed = true
    listener.onClosed(session, complaint || 'the connection closed')
  }
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => listener.onToolsChanged(session))
  // The timeout of the SDK covers the answer to `initialize`, not the notification that follows it.
  async function connectAndList(): Promise<ToolList> {
    await client.connect(limitReplies(opened.transport, around.clock), { timeout: REQUEST_TIMEOUT_MS })
    return listTools(client)
  }
  try {
    const list = await within(around.clock, OPEN_TIMEOUT_MS, 'opening a session', connectAndList())
    if (closed) throw new Error(complaint || 'the connection closed at once')
    return { session, list }
  } catch (error) {
    await client.close()
    const said = opened.lastWords()
    throw new Error(`${rootCause(error).message}${said === '' ? '' : `; it said: ${said}`}`, {
      cause: error,
    })
  }
}
