/**
 * The program that the protocol's conformance suite runs as the client. It is our client as the service uses
 * it, and does what the scenario asks for with the tools that were listed. Run the suite by hand:
 *
 *   npx @modelcontextprotocol/conformance@0.2.0-alpha.12 client --suite core \
 *     --command "npx node agent/harness/test/mcp/conformance-client.ts"
 *
 * The suite appends the URL of its server.
 */
import { Config, type McpServerConfig } from '@cairn/protocol'
import { systemClock } from '@cairn/models/clock'
import { startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { openSession } from '../../src/capabilities/mcp/session.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { toolJsonSchema } from '../../src/tools/parameters.ts'
import { makeContext } from '../tools/tool-context.ts'

const url = process.argv.at(-1)
if (url === undefined) throw new Error('the conformance suite runs this program')

const servers = Config.parse({ mcp_servers: { suite: { url } } }).mcp_servers
const config = servers['suite']
if (config === undefined) throw new Error('the configuration has lost its server')
const boxes = () => Promise.reject(new Error('the suite has no server over stdio'))
const mcp = startMcpServers({
  servers,
  env: process.env,
  boxes,
  logger: (level, message, fields) => console.error(level, message, fields ?? {}),
})

/** Any value that matches the schema. */
function sampleOf(schema: Record<string, unknown>): unknown {
  if (Array.isArray(schema['enum'])) return schema['enum'][0]
  switch (schema['type']) {
    case 'object': {
      const properties = (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>
      return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sampleOf(inner)]))
    }
    case 'array':
      return []
    case 'number':
    case 'integer':
      return 3
    case 'boolean':
      return true
    default:
      return 'text'
  }
}

async function run(tool: Tool, args: Record<string, unknown>): Promise<void> {
  try {
    const { content } = await tool.run(args, makeContext())
    console.log(tool.name, content)
  } catch (error) {
    console.log(tool.name, 'failed:', error)
  }
}

await mcp.ready
const tools = mcp.tools()
const echo = tools.find(({ name }) => name.endsWith('__json_schema_echo'))
for (const tool of tools)
  if (tool !== echo) await run(tool, sampleOf(toolJsonSchema(tool)) as Record<string, unknown>)
if (echo !== undefined) await run(echo, { schema: await listedSchema(config) })
await mcp.stop()

/** The first schema as our client received it, which the suite compares with the one that it sent. */
async function listedSchema(of: McpServerConfig): Promise<unknown> {
  const nothing = (): void => undefined
  const { session, list } = await openSession(
    'suite',
    of,
    { env: {}, boxes, clock: systemClock },
    {
      onOpening: nothing,
      onClosed: nothing,
      onToolsChanged: nothing,
    },
  )
  await session.client.close()
  return list.tools[0]?.inputSchema
}
