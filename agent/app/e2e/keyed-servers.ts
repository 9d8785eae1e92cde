/** A model server and an MCP server that reject requests without their key. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ScenarioInput, startScriptedServer } from '@cairn/scripted-model'
import { onTestFinished } from 'vitest'

type Keyed = {
  url: string
  /** Bodies of the accepted requests. */
  accepted: readonly string[]
  rejected: () => number
}

async function listen(
  isAllowed: (request: IncomingMessage) => boolean,
  answer: (request: IncomingMessage, body: string, response: ServerResponse) => Promise<void>,
): Promise<Keyed> {
  const accepted: string[] = []
  let rejected = 0
  const server = createServer((request, response) => {
    void (async () => {
      let body = ''
      for await (const piece of request) body += String(piece)
      if (!isAllowed(request)) {
        rejected += 1
        response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"bad key"}}')
        return
      }
      accepted.push(body)
      await answer(request, body, response)
    })().catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, accepted, rejected: () => rejected }
}

/** Follows the scenario, and lists the models `small` and `large`. */
export async function startKeyedModel(keys: readonly string[], scenario: ScenarioInput): Promise<Keyed> {
  const scripted = await startScriptedServer(scenario)
  onTestFinished(() => scripted.close())
  return listen(
    ({ headers }) => keys.some(key => headers.authorization === `Bearer ${key}`),
    async (request, body, response) => {
      if (request.url === '/v1/models')
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ data: [{ id: 'small' }, { id: 'large' }] }))
      const answer = await fetch(scripted.url.replace(/\/v1$/, '') + (request.url ?? ''), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      for await (const piece of answer.body ?? []) response.write(piece)
      response.end()
    },
  )
}

const FORECAST = {
  name: 'forecast',
  description: 'The weather of tomorrow.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
  annotations: { readOnlyHint: true },
}

/** Has one tool, `forecast`; its key is the header `x-weather-key`. */
export const startKeyedMcp = (key: string): Promise<Keyed> =>
  listen(
    ({ headers }) => headers['x-weather-key'] === key,
    (request, body, response) => {
      const { id, method } = JSON.parse(body || '{}') as { id?: number; method?: string }
      if (id === undefined) {
        response.writeHead(request.method === 'GET' ? 405 : 202).end()
        return Promise.resolve()
      }
      const results: Record<string, unknown> = {
        initialize: {
          protocolVersion: '2025-06-18',
          serverInfo: { name: 'weather', version: '1' },
          capabilities: { tools: {} },
        },
        'tools/list': { tools: [FORECAST] },
        'tools/call': { content: [{ type: 'text', text: 'sunny, 24 degrees' }] },
      }
      const result = results[method ?? '']
      const reply = result === undefined ? { error: { code: -32_601, message: 'unknown' } } : { result }
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }))
      return Promise.resolve()
    },
  )
