/** An MCP server over HTTP that answers each request as a test says, also in ways that no SDK would. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type RpcRequest = { id?: number; method: string; params: Record<string, unknown> }
/** Writes the answer itself, or returns a result to be sent as JSON. */
export type Answer = (request: RpcRequest, response: ServerResponse) => object | undefined
export type RawServer = {
  url: string
  /** Methods of the messages that came, in order; `GET` and `DELETE` for requests without one. */
  asked: string[]
  [Symbol.asyncDispose](): Promise<void>
}

export const INITIALIZED = {
  protocolVersion: '2025-06-18',
  serverInfo: { name: 'raw', version: '1' },
  capabilities: { tools: { listChanged: true } },
}
export const pay = { name: 'pay', description: 'Pays a bill.', inputSchema: { type: 'object' } }

/** `initialize` and `tools/list` as a sound server answers them; the others are up to the test. */
export const sound: Readonly<Record<string, Answer>> = {
  initialize: () => INITIALIZED,
  'tools/list': () => ({ tools: [pay] }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'paid' }] }),
}

/** Answers by method; methods that are not named get 202, as notifications do, and `GET` gets 405. */
export async function startRawServer(answers: Readonly<Record<string, Answer>>): Promise<RawServer> {
  const asked: string[] = []
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const piece of request) body += String(piece)
    const message = (body === '' ? { method: request.method } : JSON.parse(body)) as RpcRequest
    asked.push(message.method)
    const given = answers[message.method]
    if (given === undefined) {
      response.writeHead(request.method === 'POST' ? 202 : 405).end()
      return
    }
    const result = given({ ...message, params: message.params ?? {} }, response)
    if (result !== undefined)
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
  }
  const server = createServer((request, response) => {
    // A client may leave in the middle of its request.
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
