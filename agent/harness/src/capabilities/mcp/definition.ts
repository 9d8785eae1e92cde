/**
 * A tool of a server as one hash of its name, description and schema. An approval covers the hash and the
 * arguments, so a server gains nothing by changing the tool afterwards. Limits apply to definitions, because
 * they are part of every request to the model.
 */
import { createHash } from 'node:crypto'
import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'
import { asError, type McpServerConfig } from '@cairn/protocol'
import { canonicalJson } from '../../tools/canonical-json.ts'

const KIB = 1024
const MAX_DEFINITION_BYTES = 64 * KIB
/** Maximum bytes of all tools of a server together. */
const MAX_DEFINITIONS_BYTES = 1024 * KIB
const NAMES_SHOWN = 20

export type DefinedTool = { tool: McpTool; hash: string }

/** Throws for values without canonical JSON: a schema nested too deeply, or a lone surrogate. */
function define(server: string, { name, title, description, inputSchema }: McpTool) {
  const text = canonicalJson({ server, name, title, description, inputSchema })
  return { bytes: Buffer.byteLength(text), hash: createHash('sha256').update(text, 'utf8').digest('hex') }
}

/** The offered tools, and one sentence for each rejected one. */
export function admitTools(
  server: string,
  { pin }: McpServerConfig,
  tools: readonly McpTool[],
): { admitted: DefinedTool[]; problems: string[] } {
  const admitted: DefinedTool[] = []
  const problems: string[] = []
  let total = 0
  for (const tool of tools) {
    const shown = JSON.stringify(tool.name.slice(0, 100))
    try {
      const { bytes, hash } = define(server, tool)
      const pinned = pin?.[tool.name]
      if (pin !== undefined && pinned !== hash)
        problems.push(
          pinned === undefined
            ? `${shown} is not pinned; its definition is ${hash}`
            : `${shown} does not match its pin: its definition is now ${hash}`,
        )
      else if (bytes > MAX_DEFINITION_BYTES)
        problems.push(`the definition of ${shown} has ${bytes} bytes; the maximum is ${MAX_DEFINITION_BYTES}`)
      else if (total + bytes > MAX_DEFINITIONS_BYTES)
        problems.push(`with ${shown} all definitions have more than ${MAX_DEFINITIONS_BYTES} bytes`)
      else {
        total += bytes
        admitted.push({ tool, hash })
      }
    } catch (error) {
      problems.push(`${shown} has no usable definition: ${asError(error).message}`)
    }
  }
  const missing = Object.keys(pin ?? {}).filter(name => !tools.some(tool => tool.name === name))
  return {
    admitted,
    problems: [
      ...problems.slice(0, NAMES_SHOWN),
      ...(problems.length > NAMES_SHOWN ? [`${problems.length - NAMES_SHOWN} more tools are left out`] : []),
      ...missing.map(name => `${JSON.stringify(name)} is pinned, but the server does not have it`),
    ],
  }
}
