/** One session with an MCP server: opened, its tools listed, until it closes. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  ListToolsResultSchema,
  ToolListChangedNotificationSchema,
  type Tool as McpTool,
} from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '@cairn/protocol'
import { rootCause } from '../tools/root-cause.ts'
import { type Environment, type McpBoxes, type Opened, openTransport } from './transport.ts'

const REQUEST_TIMEOUT_MS = 10_000
const MAX_TOOLS = 500

export type McpSession = Opened & { client: Client }

/** What is told of a session while it lasts. */
export type SessionListener = {
  /** It is about to connect: closing the client ends that. */
  onOpening(client: Client): void
  onClosed(session: McpSession, why: string): void
  onToolsChanged(session: McpSession): void
}

/** All tools of a server; pages are followed up to a bound. */
export async function listTools(client: Client): Promise<McpTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const tools: McpTool[] = []
  let cursor: string | undefined
  do {
    const page = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      ListToolsResultSchema,
      { timeout: REQUEST_TIMEOUT_MS },
    )
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined && tools.length < MAX_TOOLS)
  return tools.slice(0, MAX_TOOLS)
}

/** Rejects with why it did not open, and what the server said last. */
export async function openSession(
  name: string,
  config: McpServerConfig,
  { env, boxes }: { env: Environment; boxes: McpBoxes },
  listener: SessionListener,
): Promise<{ session: McpSession; tools: McpTool[] }> {
  const opened = await openTransport(name, config, env, boxes)
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
  try {
    await client.connect(opened.transport, { timeout: REQUEST_TIMEOUT_MS })
    const tools = await listTools(client)
    if (closed) throw new Error(complaint || 'the connection closed at once')
    return { session, tools }
  } catch (thrown) {
    await client.close()
    const said = opened.lastWords()
    throw new Error(`${rootCause(thrown).message}${said === '' ? '' : `; it said: ${said}`}`, {
      cause: thrown,
    })
  }
}
