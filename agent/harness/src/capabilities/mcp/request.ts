/** One tool call as a request to its MCP server. */
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, McpError, type CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { asError } from '@cairn/protocol'
import type { ToolContext, ToolOutcome } from '../../tools/tool.ts'
import type { McpSession } from './session.ts'

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

type Block = CallToolResult['content'][number]

const sizeOf = (base64: string) => Math.floor((base64.length * 3) / 4)

/**
 * One block as text. Non-text content is replaced by its type and size, because the model's messages carry
 * only text.
 */
function blockText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
    case 'audio':
      return `[${block.type}: ${block.mimeType}, ${sizeOf(block.data)} bytes, not shown]`
    case 'resource_link':
      return `[resource: ${block.name}, ${block.uri}]`
    case 'resource':
      return 'text' in block.resource
        ? block.resource.text
        : `[resource: ${block.resource.uri}, ${block.resource.mimeType ?? 'unknown type'}, ` +
            `${sizeOf(block.resource.blob)} bytes, not shown]`
    default:
      return `[content of an unknown kind: ${JSON.stringify(block).slice(0, 200)}]`
  }
}

/** Throws if the server reports that the call failed, with the server's text as the reason. */
function toolOutcome(result: CallToolResult): ToolOutcome {
  const text = result.content.map(blockText).join('\n')
  if (result.isError === true) throw new Error(text === '' ? 'the server gave no reason' : text)
  // A server that returns structured content should repeat it as text for text-only clients; it is used here
  // if the text is missing.
  return { content: text === '' && result.structuredContent !== undefined ? result.structuredContent : text }
}
