/** All configured MCP servers. None of them can keep the service from starting. */
import type { Config } from '@cairn/protocol'
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Tool } from '../tools/tool.ts'
import type { McpConnection } from './connection.ts'
import type { Environment, McpBoxes } from './transport.ts'

export type McpOptions = {
  servers: Config['mcp_servers']
  /** Where the variables that the configuration names are looked up. */
  env: Environment
  /** What servers over stdio run in (boxed.ts). */
  boxes: McpBoxes
  log: Log
  clock?: Clock
  random?: () => number
}
export type McpServers = {
  /** The tools of those that are connected now. */
  tools(): readonly Tool[]
  /** Settles when every server was tried once. */
  ready: Promise<void>
  /** Ends the connections, and the processes of servers that were started. */
  stop(): Promise<void>
}

export function startMcpServers({
  servers,
  env,
  boxes,
  log,
  clock = systemClock,
  random = Math.random,
}: McpOptions): McpServers {
  let connections: readonly McpConnection[] = []
  let isStopped = false
  // Loaded where there is a server: the SDK occupies some 8 MB.
  async function connect(): Promise<void> {
    const { connectMcpServer } = await import('./connection.ts')
    if (isStopped) return
    connections = Object.entries(servers).map(([name, config]) =>
      connectMcpServer(name, config, { env, boxes, log, clock, random }),
    )
    await Promise.all(connections.map(connection => connection.ready))
  }
  return {
    tools: () => connections.flatMap(connection => connection.tools()),
    ready: Object.keys(servers).length === 0 ? Promise.resolve() : connect(),
    async stop() {
      isStopped = true
      await Promise.all(connections.map(connection => connection.stop()))
    },
  }
}
