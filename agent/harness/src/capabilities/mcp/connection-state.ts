/**
 * The states of a connection to an MCP server:
 *
 *   connecting → connected   tools are listed, and listed again when the server reports a change
 *              → waiting     the server is unreachable
 *              → left_out    a variable of its configuration is missing, or no sandbox exists: not retried
 *   connected  → waiting     the connection closed or a request could not be sent: its tools are removed
 *   waiting    → connecting  after a backoff, while the service runs
 *   any        → stopped     the service shuts down
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Clock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { Tool } from '../../tools/tool.ts'
import type { Throttle } from './throttle.ts'
import type { MustFit } from './request.ts'
import type { McpSession } from './session.ts'
import type { Environment, McpSandboxes } from './transport.ts'

export type ConnectionOptions = {
  env: Environment
  boxes: McpSandboxes
  logger: Logger
  clock: Clock
  random: () => number
  /** Tool names and patterns in the lists of the configuration. */
  named: readonly string[]
  /** Called with a server's tools each time they were listed. */
  onTools: (tools: readonly Tool[]) => void
  /** Rejects if this number of bytes does not fit in the workspace. */
  mustFit: MustFit
}
export type McpConnection = {
  tools(): readonly Tool[]
  /** Why this tool is absent: all of the server are, or it is left out; null: no reason is known. */
  absence(tool: string): string | null
  /** Settles when the first attempt has succeeded or failed. */
  ready: Promise<void>
  stop(): Promise<void>
}

export type State =
  | { at: 'connecting'; opening: Client | null; done: Promise<void> }
  | { at: 'connected'; session: McpSession; tools: readonly Tool[]; since: number; relist: Throttle }
  | { at: 'waiting'; cancelRetry: () => void }
  | { at: 'left_out' }
  | { at: 'stopped' }

export const MOVES: Readonly<Record<State['at'], readonly State['at'][]>> = {
  connecting: ['connected', 'waiting', 'left_out', 'stopped'],
  connected: ['waiting', 'stopped'],
  waiting: ['connecting', 'stopped'],
  left_out: ['stopped'],
  stopped: [],
}

/** Why a server's tools are absent, for the model; null: they are available. */
export function absenceOf(name: string, { at }: State): string | null {
  switch (at) {
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
