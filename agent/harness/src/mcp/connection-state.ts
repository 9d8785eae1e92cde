/**
 * The states of a connection to an MCP server:
 *
 *   connecting → connected   tools are listed, and listed again when the server says that they changed
 *              → waiting     it could not be reached
 *              → left_out    a variable of its configuration is not set, or there is no box: not tried again
 *   connected  → waiting     the connection closed or a request could not be sent: tools are gone
 *   waiting    → connecting  after a backoff, for as long as the service runs
 *   any        → stopped     the service shuts down
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import type { Tool } from '../tools/tool.ts'
import type { Throttle } from './throttle.ts'
import type { McpSession } from './session.ts'
import type { Environment, McpSandboxes } from './transport.ts'

export type ConnectionOptions = {
  env: Environment
  boxes: McpSandboxes
  logger: Logger
  clock: Clock
  random: () => number
  /** Names and patterns of tools in the lists of the configuration. */
  named: readonly string[]
  /** Called with the tools of a server whenever they were listed. */
  onTools: (tools: readonly Tool[]) => void
}
export type McpConnection = {
  tools(): readonly Tool[]
  /** Why its tools are absent; null while they are there. */
  absence(): string | null
  /** Settles when the first attempt has ended, either way. */
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

/** Why the tools of a server are absent, as the model reads it; null while they are there. */
export function absenceOf(name: string, { at }: State): string | null {
  switch (at) {
    case 'connected':
      return null
    case 'connecting':
      return `MCP server '${name}' is still connecting`
    case 'left_out':
      return `MCP server '${name}' is left out: its configuration cannot work here`
    default:
      return notConnected(name)
  }
}

export const notConnected = (name: string): string => `MCP server '${name}' is not connected at the moment`
