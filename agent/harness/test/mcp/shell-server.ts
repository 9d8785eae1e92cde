/** A server of MCP over stdio that runs what it is told: it shows what a server can do where it runs. */
import { spawnSync } from 'node:child_process'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'shell', version: '1' })
const inputSchema = { command: z.string() }
server.registerTool('run', { description: 'Runs it.', inputSchema }, ({ command }) => {
  const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' })
  return { content: [{ type: 'text', text: `${stdout}${stderr}` }] }
})
await server.connect(new StdioServerTransport())
