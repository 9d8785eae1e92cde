/**
 * One MCP server: connected, or trying to be. Its tools are there while it is; a call to one that went away
 * fails like any tool.
 *
 *   connecting → connected      tools are listed, and listed again when the server says that they changed
 *   connected  → waiting        the connection closed or a request could not be sent: tools are gone
 *   waiting    → connecting     after a backoff, for as long as the service runs
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  ListToolsResultSchema,
  McpError,
  ToolListChangedNotificationSchema,
  type Tool as McpTool,
} from '@modelcontextprotocol/sdk/types.js'
import { type McpServerConfig, asError } from '@cairn/protocol'
import { z } from 'zod'
import { backoffMs } from '../backoff.ts'
import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import { rootCause } from '../tools/root-cause.ts'
import type { Tool, ToolOutcome } from '../tools/tool.ts'
import { mcpToolName } from './tool-name.ts'
import { toolOutcome } from './tool-result.ts'
import { type Environment, MissingVariable, type Opened, openTransport } from './transport.ts'

const REQUEST_TIMEOUT_MS = 10_000
const RECONNECT = { baseMs: 1000, maxMs: 60_000 }
/** Full jitter may say "now"; a server that dies at once must not be started in a circle. */
const LEAST_WAIT_MS = 250
const MAX_TOOLS = 500
const MAX_DESCRIPTION = 4000
/** The longest a timer can wait. */
const LONGEST_MS = 2 ** 31 - 1

export type ConnectionOptions = { env: Environment; log: Log; clock: Clock; random: () => number }
export type McpConnection = {
  tools(): readonly Tool[]
  /** Settles when the first attempt has ended, either way. */
  ready: Promise<void>
  stop(): Promise<void>
}

const nothing = (): void => {}

type Live = Opened & { client: Client }

/** All tools of a server; pages are followed up to a bound. */
async function listTools(client: Client): Promise<McpTool[]> {
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

export function connectMcpServer(
  name: string,
  config: McpServerConfig,
  { env, log, clock, random }: ConnectionOptions,
): McpConnection {
  let live: Live | null = null
  let tools: readonly Tool[] = []
  let connecting: Promise<Live> | null = null
  let attempt = 0
  let stopped = false
  let cancelRetry = nothing
  let opening: Client | null = null

  const wrap = (tool: McpTool): Tool => {
    // Hints of a server about itself are not trusted; only the operator's word makes a tool read-only.
    const readOnly = config.read_only.includes(tool.name)
    return {
      name: mcpToolName(name, tool.name),
      description: (tool.description ?? tool.title ?? tool.name).slice(0, MAX_DESCRIPTION),
      parameters: z.record(z.string(), z.unknown()),
      jsonSchema: tool.inputSchema,
      readOnly,
      idempotent: readOnly,
      run: (args, { signal, timeoutMs }) => call(tool.name, args, signal, timeoutMs),
    }
  }

  async function open(): Promise<Live> {
    const opened = openTransport(config, env)
    const client = new Client({ name: 'cairn-agent', version: '1.0.0' }, { capabilities: {} })
    const fresh: Live = { ...opened, client }
    let closed = false
    let complaint = ''
    opening = client
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is no EventTarget
    client.onerror = error => {
      complaint = error.message
    }
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- as above
    client.onclose = () => {
      closed = true
      lose(fresh, complaint || 'the connection closed')
    }
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => relist(fresh))
    try {
      await client.connect(opened.transport, { timeout: REQUEST_TIMEOUT_MS })
      const listed = await listTools(client)
      if (closed) throw new Error(complaint || 'the connection closed at once')
      if (stopped) throw new Error('the service is shutting down')
      live = fresh
      tools = listed.map(wrap)
      attempt = 0
      log('info', `MCP server ${name} is connected`, { tools: tools.length })
      return fresh
    } catch (thrown) {
      await client.close()
      const said = opened.lastWords()
      throw new Error(`${rootCause(thrown).message}${said === '' ? '' : `; it said: ${said}`}`, {
        cause: thrown,
      })
    } finally {
      opening = null
    }
  }

  function connect(): Promise<Live> {
    cancelRetry()
    connecting ??= open().finally(() => {
      connecting = null
    })
    return connecting
  }

  async function attemptConnect(): Promise<void> {
    try {
      await connect()
    } catch (thrown) {
      if (stopped) return
      const cause = asError(thrown)
      if (cause instanceof MissingVariable) {
        log('error', `MCP server ${name} is left out: ${cause.message}`)
        return
      }
      const waitMs = retryLater()
      // Said at once, and from then on about every ten minutes: a server that stays away must not fill the
      // log.
      if (attempt === 1 || attempt % 20 === 0)
        log('warn', `MCP server ${name} cannot be reached; its tools are absent`, {
          why: cause.message,
          attempts: attempt,
          next_attempt_in_ms: waitMs,
        })
    }
  }

  function retryLater(): number {
    const waitMs = LEAST_WAIT_MS + backoffMs(RECONNECT, attempt, random())
    attempt += 1
    cancelRetry()
    cancelRetry = clock.after(waitMs, () => void attemptConnect())
    return waitMs
  }

  /** Forgets a connection that is of no use any more, once. */
  function lose(lost: Live, why: string): void {
    if (live !== lost || stopped) return
    live = null
    tools = []
    log('warn', `MCP server ${name} went away; its tools are absent until it is back`, {
      why,
      said: lost.lastWords(),
    })
    retryLater()
    lost.client
      .close()
      .catch((thrown: unknown) =>
        log('warn', `closing the connection to MCP server ${name} failed`, { why: asError(thrown).message }),
      )
  }

  async function relist(of: Live): Promise<void> {
    if (live !== of) return
    try {
      const listed = await listTools(of.client)
      if (live === of) tools = listed.map(wrap)
    } catch (thrown) {
      log('warn', `MCP server ${name} said that its tools changed, but did not list them`, {
        why: asError(thrown).message,
      })
    }
  }

  async function call(
    tool: string,
    args: Record<string, unknown>,
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<ToolOutcome> {
    // The limit around the tool comes first and says so; this one only has to be no shorter.
    const options = { signal, timeout: Math.min(timeoutMs + 1000, LONGEST_MS) }
    const request = async ({ client }: Live) =>
      toolOutcome(
        await client.request(
          { method: 'tools/call', params: { name: tool, arguments: args } },
          CallToolResultSchema,
          options,
        ),
      )
    const current = live
    if (current === null) throw new Error(`MCP server '${name}' is not connected at the moment`)
    try {
      return await request(current)
    } catch (thrown) {
      signal.throwIfAborted()
      // The server forgot our session and therefore ran nothing: a new session, and once more. Nothing else
      // is ever sent twice.
      if (thrown instanceof StreamableHTTPError && thrown.code === 404 && current.hasSession()) {
        lose(current, 'the server does not know our session any more')
        await attemptConnect()
        if (live !== null) return request(live)
      }
      if (!isBroken(thrown)) throw thrown
      const { message } = rootCause(thrown)
      lose(current, message)
      throw new Error(`MCP server '${name}' could not be reached: ${message}`, { cause: thrown })
    }
  }

  const ready = attemptConnect()
  return {
    tools: () => tools,
    ready,
    async stop() {
      stopped = true
      cancelRetry()
      await opening?.close()
      await ready
      await connecting?.catch(nothing)
      const last = live
      live = null
      tools = []
      if (last === null) return
      try {
        await last.end()
      } catch (thrown) {
        log('info', `MCP server ${name} did not take our farewell`, { why: asError(thrown).message })
      }
      await last.client.close()
    },
  }
}

/** Whether the connection itself failed, as opposed to a call that the server refused or was too slow for. */
function isBroken(thrown: unknown): boolean {
  if (thrown instanceof McpError) return false
  if (thrown instanceof StreamableHTTPError) return thrown.code === undefined || thrown.code >= 500
  // What fetch throws when it cannot reach a server.
  return thrown instanceof TypeError || asError(thrown).message === 'Not connected'
}
