/** One tool call as a request to its MCP server, and what a failure means for the session. */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpError } from '@modelcontextprotocol/sdk/types.js'
import { asError } from '@cairn/protocol'
import { z } from 'zod'
import { saveResultFile } from '../../tools/result-files.ts'
import type { ToolOutcome } from '../../tools/tool.ts'
import { CallResult, readResult } from './call-result.ts'
import type { McpSession } from './session.ts'
import type { CallContext } from './wrap-tool.ts'

/** Maximum delay of a timer. */
const MAX_REQUEST_MS = 2 ** 31 - 1

export type MustFit = (workspace: string, bytes: number) => Promise<void>

export async function request(
  { client }: McpSession,
  tool: string,
  args: Record<string, unknown>,
  { signal, timeoutMs, workspace, tool_call_id }: CallContext,
  mustFit: MustFit,
): Promise<ToolOutcome> {
  const result = await client
    .request(
      { method: 'tools/call', params: { name: tool, arguments: args } },
      CallResult,
      // The tool's own timeout fires first with a better message; this one only must not be shorter.
      { signal, timeout: Math.min(timeoutMs + 1000, MAX_REQUEST_MS) },
    )
    .catch((error: unknown) => {
      throw error instanceof z.core.$ZodError ? unreadable(error) : error
    })
  return readResult(result, (file, at) => saveResultFile(file, at, { workspace, tool_call_id, mustFit }))
}

/** The SDK's error has some forty lines. */
function unreadable(error: z.core.$ZodError): Error {
  const [path, message] = [error.issues[0]?.path.join('.'), error.issues[0]?.message]
  return new Error(`the answer of the server is not a message of the protocol: ${path}: ${message}`, {
    cause: error,
  })
}

/** Whether the connection itself failed, as opposed to a call that the server refused or that timed out. */
export function isBroken(thrown: unknown): boolean {
  if (thrown instanceof McpError) return false
  if (thrown instanceof StreamableHTTPError) return thrown.code === undefined || thrown.code >= 500
  // fetch throws this when it cannot reach a server.
  return thrown instanceof TypeError || asError(thrown).message === 'Not connected'
}

/** The status by which a server refused a request without processing it; null: it did not. */
export const refusedWith = (thrown: unknown): number | null =>
  thrown instanceof StreamableHTTPError &&
  thrown.code !== undefined &&
  thrown.code >= 400 &&
  thrown.code < 500
    ? thrown.code
    : null

/** Statuses that are about the time of a request, not about the session. */
const PASSING = new Set([408, 425, 429])

const OWN_ERROR = /: (?:Connection closed|Request timed out|Maximum total timeout exceeded)/

/** Whether the server refused the request, possibly because it does not know the session. */
export function isRefusal(thrown: unknown): boolean {
  const status = refusedWith(thrown)
  if (status !== null) return !PASSING.has(status)
  // The SDK's own errors have codes that servers use for unknown sessions.
  return thrown instanceof McpError && !OWN_ERROR.test(thrown.message)
}
