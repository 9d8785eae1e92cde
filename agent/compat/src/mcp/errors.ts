/** Errors of MCP: JSON-RPC errors of a request, and results of tools that failed. */
import { AppError } from '@cairn/protocol'
import {
  type CallToolResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
} from '@modelcontextprotocol/server'
import { INTERNAL_ERROR, INVALID_PARAMS } from './rpc-errors.ts'

/** The extension by which a client accepts tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks'

export const invalidParams = (message: string): ProtocolError => new ProtocolError(INVALID_PARAMS, message)
export const tasksNeeded = (): ProtocolError =>
  new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } })

/** The error of a request; a bug stays what it is. */
export const protocolError = (error: unknown): unknown =>
  error instanceof AppError
    ? new ProtocolError(error.status < 500 ? INVALID_PARAMS : INTERNAL_ERROR, error.message, {
        code: error.code,
      })
    : error

/** The result of a tool that failed: the model reads the reason and can correct its call. */
export const failedCall = (message: string): CallToolResult => ({
  content: [{ type: 'text', text: message }],
  isError: true,
})
