/**
 * A real MCP server, made with the SDK and run as a program over stdio: books rooms and cancels them, and
 * keeps a ledger on disk.
 */
import { appendFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const [, , ledger = ''] = process.argv
const write = (line: string): void => appendFileSync(ledger, `${line}\n`)
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

const server = new McpServer({ name: 'hotel', version: '1' })
server.registerTool('book', { inputSchema: { room: z.string() } }, ({ room }) => {
  write(`booked ${room}`)
  return text(JSON.stringify({ booking: { id: `B-${room}` } }))
})
server.registerTool('cancel', { inputSchema: { id: z.string() } }, ({ id }) => {
  write(`cancelled ${id}`)
  return id === 'B-suite' ? { ...text('a suite cannot be cancelled'), isError: true } : text('cancelled')
})
await server.connect(new StdioServerTransport())
