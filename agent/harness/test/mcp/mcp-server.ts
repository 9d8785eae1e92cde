/** A real MCP server for the tests of the client, made with the SDK. Run as a program it speaks stdio. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

export type TestServer = {
  server: McpServer
  /** Calls of `slow` that began, and those that the client cancelled. */ started: () => number
  cancelled: () => number
}

export function makeTestServer(): TestServer {
  let started = 0
  let cancelled = 0
  const server = new McpServer({ name: 'test', version: '1' })
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
    ({ text: said }) => text(said),
  )
  server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
    content: [],
    structuredContent: { sum: a + b },
  }))
  server.registerTool('environment', {}, () => text(JSON.stringify(Object.keys(process.env).toSorted())))
  server.registerTool('fails', {}, () => ({ ...text('the disk is full'), isError: true }))
  server.registerTool('picture', {}, () => ({
    content: [
      { type: 'text', text: 'see:' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'resource', resource: { uri: 'memo:1', text: 'a memo' } },
    ],
  }))
  server.registerTool(
    'slow',
    {},
    ({ signal }) =>
      new Promise(resolve => {
        started += 1
        signal.addEventListener('abort', () => {
          cancelled += 1
          resolve(text('late'))
        })
      }),
  )
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => text('new'))
    return text('there is one more')
  })
  server.registerTool('die', {}, () => {
    process.exit(1)
  })
  return { server, started: () => started, cancelled: () => cancelled }
}

if (process.argv[1] === import.meta.filename) {
  process.stderr.write('the test server is up\n')
  await makeTestServer().server.connect(new StdioServerTransport())
}
