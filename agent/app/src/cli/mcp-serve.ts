/**
 * cairn mcp serve: the MCP server of a running service, on stdin and stdout. Messages pass unchanged in both
 * directions, so both revisions of the protocol work as they do over HTTP.
 */
/* oxlint-disable unicorn/prefer-add-event-listener -- the transports of the SDK are not EventTargets */
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  type RequestId,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { asError } from '@cairn/protocol'

const CONNECTION_LOST = -32_000

type Service = { baseUrl: string; token: () => string | Promise<string> }

/** Resolves when the editor closes stdin. */
export async function serveMcp({ baseUrl, token }: Service, note: (line: string) => void): Promise<void> {
  const editor = new StdioServerTransport()
  const service = new StreamableHTTPClientTransport(new URL('/compat/mcp', baseUrl), {
    async fetch(input, init) {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${await token()}`)
      return fetch(input, { ...init, headers })
    },
  })
  /** Requests of the editor without an answer. */
  const open = new Map<RequestId, AbortController>()
  const toEditor = (message: JSONRPCMessage): void =>
    void editor.send(message).catch((error: unknown) => note(`cairn mcp: ${asError(error).message}`))
  const fail = (id: RequestId, error: unknown): void => {
    if (!open.delete(id)) return
    const { code, data } = error instanceof ProtocolError ? error : { code: CONNECTION_LOST, data: undefined }
    const shown = { code, message: asError(error).message, ...(data === undefined ? {} : { data }) }
    toEditor({ jsonrpc: '2.0', id, error: shown })
  }
  service.onmessage = message => {
    if (isJSONRPCResponse(message)) {
      if (message.id !== undefined) open.delete(message.id)
      if ('result' in message && typeof message.result['protocolVersion'] === 'string')
        service.setProtocolVersion(message.result['protocolVersion'])
    }
    toEditor(message)
  }
  service.onerror = error => note(`cairn mcp: ${error.message}`)
  editor.onerror = error => note(`cairn mcp: ${error.message}`)
  editor.onmessage = message => {
    if (endsRequest(message, open)) return
    const id = isJSONRPCRequest(message) ? message.id : null
    const stop = new AbortController()
    if (id !== null) open.set(id, stop)
    const lost = new Error(`Connection to ${baseUrl} lost. The session continues: read it with wait.`)
    service
      .send(message, {
        requestSignal: stop.signal,
        ...(id === null ? {} : { onRequestStreamEnd: () => fail(id, lost) }),
      })
      .catch((error: unknown) => {
        if (id === null) note(`cairn mcp: ${asError(error).message}`)
        else fail(id, error)
      })
  }
  const closed = new Promise<void>(resolve => {
    editor.onclose = resolve
  })
  await service.start()
  await editor.start()
  await closed
  await service.close()
}

/**
 * In revision 2026-07-28 a request over HTTP is cancelled by closing its stream, on stdio by a notification;
 * earlier revisions have the notification on both.
 */
function endsRequest(message: JSONRPCMessage, open: Map<RequestId, AbortController>): boolean {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return false
  const { requestId, _meta } = (message.params ?? {}) as {
    requestId?: RequestId
    _meta?: Record<string, unknown>
  }
  if (_meta?.[PROTOCOL_VERSION_META_KEY] === undefined || requestId === undefined) return false
  open.get(requestId)?.abort()
  open.delete(requestId)
  return true
}
