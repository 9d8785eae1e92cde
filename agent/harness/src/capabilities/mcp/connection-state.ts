/**
 * The states of a connection to an MCP server:
 *
 *   connecting → connected   tools are listed, and listed again when the server reports a change
 *              → waiting     the server is unreachable
 *              → left_out    a variable of its configuration is missing, or no sandbox exists: not retried
 *              → needs_login a person has to authorise the service first
 *   connected  → waiting     the connection closed or a request could not be sent: its tools are removed
 *   waiting    → connecting  after a backoff, while the service runs
 *   needs_login → connecting after the person has logged in
 *   any        → stopped     the service shuts down
 */
import type { AuthProvider, Client } from '@modelcontextprotocol/client'
import { backoffMs } from '@cairn/models/backoff'
import type { Clock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { Tool } from '../../tools/tool.ts'
import type { Throttle } from './throttle.ts'
import type { MustFit } from './request.ts'
import type { McpSession } from './session.ts'
import type { Environment, McpSandboxes } from './transport.ts'

/** How a person authorises the service at the server. */
export type ConnectionLogin = {
  auth: AuthProvider
  link: string
  /** Whether the person has granted what the server last asked for. */
  isConnected(): Promise<boolean>
  /** Records that the server wants more permissions; false: they were granted already. */
  wantScope(scope: string, resourceMetadataUrl: string | undefined): Promise<boolean>
}

export type ConnectionOptions = {
  env: Environment
  boxes: McpSandboxes
  /** Reaches servers over HTTP; absent: the usual fetch. */
  fetch?: typeof globalThis.fetch | undefined
  logger: Logger
  clock: Clock
  random: () => number
  /** Tool names and patterns in the lists of the configuration. */
  named: readonly string[]
  /** Called with a server's tools each time they were listed. */
  onTools: (tools: readonly Tool[]) => void
  /** Rejects if this number of bytes does not fit in the workspace. */
  mustFit: MustFit
  /** Absent: the server has no `auth`. */
  login?: ConnectionLogin
}
export type McpConnection = {
  tools(): readonly Tool[]
  /** Why this tool is absent: all of the server are, or it is left out; null: no reason is known. */
  absence(tool: string): string | null
  /** Settles when the first attempt has succeeded or failed. */
  ready: Promise<void>
  /** The link at which a person has to log in first; null: no login is needed. */
  loginLink(): string | null
  /** Connects if the person has logged in since. Never rejects. */
  retryLogin(): Promise<void>
  stop(): Promise<void>
}

export type State =
  | { at: 'connecting'; opening: Client | null; done: Promise<void> }
  | { at: 'connected'; session: McpSession; tools: readonly Tool[]; since: number; relist: Throttle }
  | { at: 'waiting'; cancelRetry: () => void }
  | { at: 'left_out' }
  | { at: 'needs_login'; link: string }
  | { at: 'stopped' }

export const MOVES: Readonly<Record<State['at'], readonly State['at'][]>> = {
  connecting: ['connected', 'waiting', 'left_out', 'needs_login', 'stopped'],
  connected: ['waiting', 'stopped'],
  waiting: ['connecting', 'stopped'],
  left_out: ['stopped'],
  needs_login: ['connecting', 'stopped'],
  stopped: [],
}

/** Why a server's tools are absent, for the model; null: they are available. */
export function absenceOf(name: string, state: State): string | null {
  switch (state.at) {
    case 'needs_login':
      return `MCP server '${name}' needs the user's authorization (${state.link})`
    case 'connected':
      return null
    case 'connecting':
      return `MCP server '${name}' is still connecting`
    case 'left_out':
      return `MCP server '${name}' is skipped: its configuration cannot work on this machine`
    default:
      return notConnected(name)
  }
}

export const notConnected = (name: string): string => `MCP server '${name}' is not connected`

const RECONNECT = { baseMs: 1000, maxMs: 60_000 }
/**
 * Minimum delay: with full jitter it could be 0, and a server that exits at once must not be restarted in a
 * tight loop.
 */
const MIN_WAIT_MS = 250

export const waitBeforeAttempt = (attempts: number, random: () => number): number =>
  MIN_WAIT_MS + backoffMs(RECONNECT, attempts, random())
