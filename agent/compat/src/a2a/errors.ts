/** Errors of the Agent2Agent protocol, in the envelope of JSON-RPC. */
import { AppError, type ErrorCode } from '@cairn/protocol'

/** Errors that the protocol names, with their codes. */
const CODES = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: -32007,
  VERSION_NOT_SUPPORTED: -32009,
} as const
type Reason = keyof typeof CODES

/** An error that the protocol names; `code` decides its status on the routes of other APIs. */
export const refuse = (reason: Reason, message: string, code: ErrorCode = 'unsupported'): AppError =>
  new AppError(code, message, { extra: { a2a_reason: reason } })

/** An unknown task, also one of another person. */
export const taskNotFound = (id: string): AppError =>
  refuse('TASK_NOT_FOUND', `Task ${JSON.stringify(id.slice(0, 100))} not found.`, 'not_found')

const isReason = (value: unknown): value is Reason => typeof value === 'string' && Object.hasOwn(CODES, value)

function reasonOf({ status, code, extra }: AppError): Reason {
  const { a2a_reason } = extra
  if (isReason(a2a_reason)) return a2a_reason
  if (code === 'unsupported') return 'UNSUPPORTED_OPERATION'
  return status >= 500 ? 'INTERNAL' : 'INVALID_PARAMS'
}

type RpcError = { code: number; message: string; data: unknown[] }

/** The error member of a response. */
export function rpcError(error: AppError): RpcError {
  const reason = reasonOf(error)
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'a2a-protocol.org',
    metadata: { code: error.code },
  }
  return { code: CODES[reason], message: error.message, data: [info] }
}

/** An error before the request was read, such as missing credentials. */
export const a2aError = (error: AppError): Response =>
  Response.json(
    { jsonrpc: '2.0', id: null, error: rpcError(error) },
    { status: error.status, headers: { 'cache-control': 'no-store' } },
  )
