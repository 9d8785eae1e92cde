/** Clients of Cairn's MCP server, built with the official SDKs. */
import {
  Client,
  type ElicitRequest,
  type ElicitResult,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

const INFO = { name: 'test', version: '1.0.0' }
const TASKS = 'io.modelcontextprotocol/tasks'
const BIN = fileURLToPath(new URL('../bin/cairn.mjs', import.meta.url))

/** How the person of a client answers a form; absent: the client cannot ask. */
export type Person = (asked: ElicitRequest['params']) => ElicitResult

export type Place = { url: string; token: string }
type Called = { isError?: boolean; text: string; data: Record<string, unknown> }

const overHttp = ({ url, token }: Place): Transport =>
  new StreamableHTTPClientTransport(new URL('/compat/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })

/** `cairn mcp serve` in a process of its own. */
export const overStdio = (env: Record<string, string>): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp', 'serve'],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stderr: 'pipe',
  })

export type McpClient = {
  client: Client
  call(name: string, args?: Record<string, unknown>): Promise<Called>
}

export async function openClient(
  place: Place | Transport,
  revision: Revision,
  person?: Person,
): Promise<McpClient> {
  const client = new Client(INFO, {
    capabilities: person === undefined ? {} : { elicitation: { form: {} } },
    versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' },
  })
  if (person !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => person(params))
  await client.connect('url' in place ? overHttp(place) : place)
  onTestFinished(() => client.close())
  return {
    client,
    async call(name, args = {}) {
      const result = await client.callTool({ name, arguments: args }, { timeout: 120_000 })
      const [block] = result.content
      return {
        ...(result.isError === true ? { isError: true } : {}),
        text: block?.type === 'text' ? block.text : '',
        data: (result.structuredContent ?? {}) as Record<string, unknown>,
      }
    },
  }
}

/** Sends one request of revision 2026-07-28 as it is. */
export function rawRequests({ url, token }: Place, capabilities: object = { extensions: { [TASKS]: {} } }) {
  let id = 0
  return async (method: string, params: Record<string, unknown> = {}) => {
    const name = params['taskId'] ?? params['name']
    return fetch(new URL('/compat/mcp', url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: ++id,
        method,
        params: {
          ...params,
          _meta: {
            [PROTOCOL_VERSION_META_KEY]: '2026-07-28',
            'io.modelcontextprotocol/clientInfo': INFO,
            'io.modelcontextprotocol/clientCapabilities': capabilities,
          },
        },
      }),
    })
  }
}

/** The official client of the tasks extension. */
export async function openTasks(place: Place, person: Person) {
  const { client } = await openClient(place, '2026-07-28', person)
  const capabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } }
  const send = rawRequests(place, capabilities)
  const session = createTaskSessionFromClient(client, {
    endpointId: 'cairn',
    v2RequestFraming: {
      protocolVersion: '2026-07-28',
      clientInfo: INFO,
      clientCapabilities: capabilities,
    },
    async rawDispatch(request) {
      const { method, params } = request as { method: string; params: Record<string, unknown> }
      const answer = (await (await send(method, params)).json()) as { result?: never; error?: never }
      return answer.error === undefined
        ? { kind: 'result', result: answer.result as never }
        : { kind: 'error', error: answer.error }
    },
    onInputRequest: async request => person(request.params as never) as never,
  })
  onTestFinished(() => session.close())
  return {
    session,
    async run(name: string, args: Record<string, string>) {
      const execution = await session.callTool(name, args)
      const { outcome } = await execution.settle()
      return { taskId: execution.handle?.taskId, outcome, result: () => resultFromTaskOutcome(outcome) }
    },
  }
}
