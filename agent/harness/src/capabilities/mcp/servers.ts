/** All configured MCP servers. None of them can delay the start of the service or of a turn. */
import type { Config } from '@cairn/protocol'
import { type Clock, systemClock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { Tool } from '../../tools/tool.ts'
import type { Quota } from '../../tools/workspace-quota.ts'
import type { McpConnection } from './connection-state.ts'
import { isNameOfServer } from './tool-name.ts'
import type { Environment, McpSandboxes } from './transport.ts'

export type McpOptions = {
  servers: Config['mcp_servers']
  /** Environment for the variables that the configuration names. */
  env: Environment
  /** The sandboxes of stdio servers (sandboxed.ts). */
  boxes: McpSandboxes
  /** Tool names and patterns in the lists of the configuration; those that match nothing are logged. */
  named?: readonly string[]
  /** Called with a server's tools each time they were listed: definitions may have changed. */
  onTools?: (tools: readonly Tool[]) => void
  /** Size limit of workspaces, where files of results are saved; absent: none. */
  quota?: Pick<Quota, 'mustFit'>
  logger: Logger
  clock?: Clock
  random?: () => number
}
export type McpServers = {
  /** The tools of the servers that are connected now. */
  tools(): readonly Tool[]
  /**
   * For a tool name that the turn does not have: waits for the first attempt to connect to its server. Null:
   * no configured server has that name. Rejects with the signal's reason.
   */
  find(name: string, signal: AbortSignal): Promise<Tool | { absence: string } | null>
  /** Settles after the first attempt of every server. Turns do not wait for it. */
  ready: Promise<void>
  /** Ends the connections, and the processes of servers that were started. */
  stop(): Promise<void>
}

export function startMcpServers({
  servers,
  env,
  boxes,
  named = [],
  onTools = () => {},
  quota = { mustFit: () => Promise.resolve() },
  logger,
  clock = systemClock,
  random = Math.random,
}: McpOptions): McpServers {
  const names = Object.keys(servers)
  const around = { env, boxes, named, onTools, logger, clock, random }
  let isStopped = false
  let connections: ReadonlyMap<string, McpConnection> = new Map()
  // Loaded only if there is a server: the SDK takes some 8 MB.
  async function connect(): Promise<ReadonlyMap<string, McpConnection>> {
    const { connectMcpServer } = await import('./connection.ts')
    if (isStopped) return new Map()
    connections = new Map(
      Object.entries(servers).map(([name, config]) => [
        name,
        connectMcpServer(name, config, { ...around, mustFit: quota.mustFit }),
      ]),
    )
    return connections
  }
  const begun = names.length === 0 ? Promise.resolve(connections) : connect()
  const readyOf = async (wanted: readonly string[]): Promise<void> => {
    const made = await begun
    await Promise.all(wanted.map(name => made.get(name)?.ready))
  }
  const tools = (): readonly Tool[] => [...connections.values()].flatMap(connection => connection.tools())
  return {
    tools,
    async find(name, signal) {
      const wanted = names.filter(server => isNameOfServer(name, server))
      if (wanted.length === 0) return null
      await unlessAborted(signal, readyOf(wanted))
      const found = tools().find(tool => tool.name === name)
      const absences = wanted.flatMap(server => connections.get(server)?.absence(name) ?? [])
      return found ?? (absences.length === 0 ? null : { absence: absences.join('; ') })
    },
    ready: readyOf(names),
    async stop() {
      isStopped = true
      await Promise.all([...connections.values()].map(connection => connection.stop()))
    },
  }
}

async function unlessAborted(signal: AbortSignal, running: Promise<void>): Promise<void> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([running, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
