/** The MCP client connected to one raw server, which is named `x`. */
import { Config } from '@cairn/protocol'
import { onTestFinished } from 'vitest'
import { type McpOptions, type McpServers, startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { type Answer, type RawServer, startRawServer } from './raw-server.ts'

export type Started = { mcp: McpServers; server: RawServer; logged: string[] }

export async function startWithRawServer(
  answers: Readonly<Record<string, Answer>>,
  options: Partial<McpOptions> = {},
): Promise<Started> {
  const server = await startRawServer(answers)
  const logged: string[] = []
  const mcp = startMcpServers({
    servers: Config.parse({ mcp_servers: { x: { url: server.url } } }).mcp_servers,
    env: {},
    boxes: () => Promise.reject(new Error('no server of these tests asks for a box')),
    logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    random: () => 0.999,
    ...options,
  })
  onTestFinished(async () => {
    await mcp.stop()
    await server[Symbol.asyncDispose]()
  })
  return { mcp, server, logged }
}
