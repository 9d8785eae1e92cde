/** Responses that are errors of JSON-RPC, without the SDK, which only a first request loads. */
import { type AppError, HEADERS } from '@cairn/protocol'

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

export const rpcError = (
  status: number,
  code: number,
  message: string,
  { id = null, data, headers = {} }: { id?: unknown; data?: unknown; headers?: Record<string, string> } = {},
): Response =>
  Response.json(
    { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } },
    { status, headers: { 'cache-control': 'no-store', ...headers } },
  )

export const parseError = (message: string): Response => rpcError(400, PARSE_ERROR, message)
export const invalidRequest = (message: string, status = 400): Response =>
  rpcError(status, INVALID_REQUEST, message)

/** An error before the request reached a server, such as a missing token or a rate limit. */
export function mcpError(error: AppError, requestId: string, headers: Record<string, string> = {}): Response {
  const { status, code, message, extra } = error
  return rpcError(status, status < 500 ? INVALID_REQUEST : INTERNAL_ERROR, message, {
    data: { code },
    headers: {
      'x-request-id': requestId,
      ...((extra as Record<symbol, unknown>)[HEADERS] as Record<string, string> | undefined),
      ...headers,
    },
  })
}
