/** One tool call as a request to its MCP server. */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js'
import { asError } from '@cairn/protocol'
import type { ToolContext, ToolOutcome } from '../../tools/tool.ts'
import type { McpSession } from './session.ts'
import { toolOutcome } from './tool-result.ts'

/** Maximum delay of a timer. */
const MAX_REQUEST_MS = 2 ** 31 - 1

export const request = async (
  { client }: McpSession,
  tool: string,
  args: Record<string, unknown>,
  { signal, timeoutMs }: Pick<ToolContext, 'signal' | 'timeoutMs'>,
): Promise<ToolOutcome> =>
  toolOutcome(
    await client.request(
      { method: 'tools/call', params: { name: tool, arguments: args } },
      CallToolResultSchema,
      // The tool's own timeout fires first with a better message; this one only must not be shorter.
      { signal, timeout: Math.min(timeoutMs + 1000, MAX_REQUEST_MS) },
    ),
  )

/** Whether the connection itself failed, as opposed to a call that the server refused or that timed out. */
export function isBroken(thrown: unknown): boolean {
  if (thrown instanceof McpError) return false
  if (thrown instanceof StreamableHTTPError) return thrown.code === undefined || thrown.code >= 500
  // fetch throws this when it cannot reach a server.
  return thrown instanceof TypeError || asError(thrown).message === 'Not connected'
}
