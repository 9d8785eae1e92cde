/** What a tool of an MCP server answered, as the model reads it. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { ToolOutcome } from '../tools/tool.ts'

type Block = CallToolResult['content'][number]

const sizeOf = (base64: string) => Math.floor((base64.length * 3) / 4)

/** One block as text. What is no text is named, with its size: the model's messages carry text only. */
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
      return `[content of a kind that is not known here: ${JSON.stringify(block).slice(0, 200)}]`
  }
}

/** Throws when the server says that the call failed; the text it gives is the reason. */
export function toolOutcome(result: CallToolResult): ToolOutcome {
  const text = result.content.map(blockText).join('\n')
  if (result.isError === true) throw new Error(text === '' ? 'the server gave no reason' : text)
  // A server that returns structured content says the same as text, for clients that know text only; here it
  // stands in where the text is missing.
  return { content: text === '' && result.structuredContent !== undefined ? result.structuredContent : text }
}
