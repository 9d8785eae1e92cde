/**
 * A program: the handler of Cairn's MCP server with the tools, prompts and resources that the conformance
 * suite calls by name, and without credentials, because the suite has none. It prints its address.
 */
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Principal } from '@cairn/protocol'
import {
  acceptedContent,
  inputRequired,
  ResourceNotFoundError,
  type Server,
  ProtocolError,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { type Endpoint, handleMcpRequest } from '../../src/mcp/handler.ts'
import { LegacyExchanges } from '../../src/mcp/legacy.ts'
import { createServer, type Surface } from '../../src/mcp/server.ts'
import { MemoryTasks, taskTools } from './conformance-tasks.ts'
import { ROUND_TOOLS } from './conformance-rounds.ts'
import { CONFORMANCE_TOOLS, PNG } from './conformance-tools.ts'

const PRINCIPAL: Principal = {
  kind: 'user',
  id: 'u',
  org_id: 'o',
  admin: false,
  name: 'Test',
  email: 'test@example.org',
}

const said = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
const argument = (name: string) => ({ name, description: name, required: true })
const PROMPTS = [
  { name: 'test_simple_prompt', description: 'A simple prompt.' },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with arguments.',
    arguments: [argument('arg1'), argument('arg2')],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt with a resource.',
    arguments: [argument('resourceUri')],
  },
  { name: 'test_prompt_with_image', description: 'A prompt with an image.' },
  { name: 'test_input_required_result_prompt', description: 'A prompt that asks.' },
]

function addPrompts(server: Server): void {
  server.setRequestHandler('prompts/list', () => ({ prompts: PROMPTS }))
  server.setRequestHandler('completion/complete', () => ({ completion: { values: ['paris', 'park'] } }))
  server.setRequestHandler('prompts/get', ({ params }, { mcpReq: { inputResponses } }) => {
    const args = params.arguments ?? {}
    switch (params.name) {
      case 'test_simple_prompt':
        return { messages: [said('This is a simple prompt for testing.')] }
      case 'test_prompt_with_arguments':
        return {
          messages: [said(`Prompt with arguments: arg1='${args['arg1']}', arg2='${args['arg2']}'`)],
        }
      case 'test_prompt_with_embedded_resource': {
        const resource = {
          uri: args['resourceUri'] ?? '',
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        }
        return {
          messages: [
            { role: 'user', content: { type: 'resource', resource } },
            said('Please process the embedded resource above.'),
          ],
        }
      }
      case 'test_prompt_with_image':
        return {
          messages: [
            { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
            said('Please analyze the image above.'),
          ],
        }
      case 'test_input_required_result_prompt': {
        const given = acceptedContent(inputResponses, 'user_context', z.object({ context: z.string() }))
        if (given !== undefined) return { messages: [said(given.context)] }
        const requestedSchema = z.object({ context: z.string() })
        const ask = inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema })
        return inputRequired({ inputRequests: { user_context: ask } })
      }
      default:
        throw new ProtocolError(-32602, 'Unknown prompt.')
    }
  })
}

const RESOURCES = [
  { uri: 'test://static-text', name: 'text', description: 'A text.', mimeType: 'text/plain' },
  { uri: 'test://static-binary', name: 'binary', description: 'An image.', mimeType: 'image/png' },
]

function addResources(server: Server): void {
  server.setRequestHandler('resources/list', () => ({ resources: RESOURCES }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'Data.' }],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    if (uri === 'test://static-text') {
      const text = 'This is the content of the static text resource.'
      return { contents: [{ uri, mimeType: 'text/plain', text }] }
    }
    if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] }
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    if (id === undefined) throw new ResourceNotFoundError(uri)
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  })
}

function addLegacy(server: Server): void {
  server.setRequestHandler('resources/subscribe', () => ({}))
  server.setRequestHandler('resources/unsubscribe', () => ({}))
}

const tasks = new MemoryTasks()
const surface = (isLegacy: boolean): Surface => ({
  info: { name: 'cairn-conformance', version: '1.0.0' },
  tools: [...CONFORMANCE_TOOLS, ...ROUND_TOOLS, ...taskTools(tasks)],
  tasks,
  capabilities: {
    prompts: {},
    completions: {},
    logging: {},
    resources: isLegacy ? { subscribe: true } : {},
  },
  extend(server) {
    addPrompts(server)
    addResources(server)
    if (isLegacy) addLegacy(server)
  },
})
const endpoint: Endpoint = {
  serverFor: (_, context) => createServer(surface(false), context),
  listen: () => () => null,
  legacy: new LegacyExchanges(() => createServer(surface(true), { era: 'legacy' })),
  allowsOrigin: origin => ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname),
}
const http = createHttpServer(async (req, res) => {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  const response = await handleMcpRequest(endpoint, {
    method: req.method ?? 'GET',
    headers: new Headers(req.headers as Record<string, string>),
    raw: Buffer.from(await readText(req)),
    signal: gone.signal,
    principal: PRINCIPAL,
  })
  res.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) return void res.end()
  // The client may leave before the end.
  await pipeline(Readable.fromWeb(response.body as never), res).catch(() => undefined)
})
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`))
