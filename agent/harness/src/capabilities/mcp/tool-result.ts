/** The answer of an MCP tool as the model reads it. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { ToolOutcome } from '../../tools/tool.ts'

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
export function toolOutcome(result: CallToolResult): ToolOutcome {
  const text = result.content.map(blockText).join('\n')
  if (result.isError === true) throw new Error(text === '' ? 'the server gave no reason' : text)
  // A server that returns structured content should repeat it as text for text-only clients; it is used here
  // if the text is missing.
  return { content: text === '' && result.structuredContent !== undefined ? result.structuredContent : text }
}
