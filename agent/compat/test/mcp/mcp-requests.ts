/** Requests to the MCP server as a program that knows no client library writes them. */
import type { Answer, Service } from '@cairn/api/test/service'

export const MCP_PATH = '/compat/mcp'
const TASKS = 'io.modelcontextprotocol/tasks'
const META = 'io.modelcontextprotocol/'

export const ENVELOPE = {
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientInfo`]: { name: 'test', version: '1' },
  [`${META}clientCapabilities`]: { extensions: { [TASKS]: {} } },
}

/** The body and headers of a request of revision 2026-07-28. */
export function modern(method: string, params: Record<string, unknown> = {}) {
  const name = method.startsWith('tasks/') ? params['taskId'] : params['name']
  const isName = typeof name === 'string' && /^[\x21-\x7e]{1,1000}$/.test(name)
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } },
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method.slice(0, 1000),
      ...(isName ? { 'mcp-name': name } : {}),
    },
  }
}

/** The same of revision 2025-11-25. */
export const legacy = (method: string, params: Record<string, unknown> = {}) => ({
  body: { jsonrpc: '2.0', id: 1, method, params },
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  },
})

export type Request = ReturnType<typeof modern> | ReturnType<typeof legacy>
export const send = (service: Service, token: string | null, { body, headers }: Request): Promise<Answer> =>
  service.call(MCP_PATH, { method: 'POST', token, body, headers })

/** Sends `tools/call`, and returns its result. */
export async function callTool(
  service: Service,
  token: string,
  name: string,
  args: Record<string, unknown>,
  write: typeof modern | typeof legacy = modern,
): Promise<Record<string, never> & { isError?: boolean; content: { text: string }[] }> {
  const answer = await send(service, token, write('tools/call', { name, arguments: args }))
  return answer.json.result
}
