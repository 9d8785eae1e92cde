/**
 * A tool of a server as one hash of its name, description and schema. An approval covers the hash and the
 * arguments, so a server gains nothing by changing the tool afterwards. Limits apply to definitions, because
 * they are part of every request to the model.
 */
import { createHash } from 'node:crypto'
import { asError, type McpServerConfig } from '@cairn/protocol'
import { canonicalJson } from '../../tools/canonical-json.ts'
import type { ListedTool } from './listed-tool.ts'
import { declaredHeaders } from './param-headers.ts'
import { type ModelSchema, modelSchema } from './tool-schema.ts'

const KIB = 1024
const MAX_DEFINITION_BYTES = 64 * KIB
/** Maximum bytes of all tools of a server together. */
const MAX_DEFINITIONS_BYTES = 1024 * KIB
const NAMES_SHOWN = 20

/** The hash covers the schema as the server sent it, `input` is what the model sees. */
export type DefinedTool = { tool: ListedTool; hash: string; input: ModelSchema }
/** A tool that is not offered, and why. */
export type RejectedTool = { name: string; why: string }

/** Throws for values without canonical JSON: a schema nested too deeply, or a lone surrogate. */
function define(server: string, { name, title, description, inputSchema }: ListedTool) {
  const text = canonicalJson({ server, name, title, description, inputSchema })
  return { bytes: Buffer.byteLength(text), hash: createHash('sha256').update(text, 'utf8').digest('hex') }
}

/**
 * The offered tools, the rejected ones, and pins without a tool. `mirrorsArguments`: arguments are sent as
 * headers too, so a tool with an invalid declaration of them cannot be called.
 */
export function admitTools(
  server: string,
  { pin }: McpServerConfig,
  tools: readonly ListedTool[],
  mirrorsArguments: boolean,
): { admitted: DefinedTool[]; rejected: RejectedTool[]; problems: string[] } {
  const admitted: DefinedTool[] = []
  const rejected: RejectedTool[] = []
  const notes: string[] = []
  let total = 0
  for (const tool of tools) {
    const reject = (why: string): void => void rejected.push({ name: tool.name, why })
    try {
      const { bytes, hash } = define(server, tool)
      const pinned = pin?.[tool.name]
      const declared = mirrorsArguments ? declaredHeaders(tool.inputSchema) : { declarations: [] }
      if (pin !== undefined && pinned !== hash)
        reject(
          pinned === undefined
            ? `is not pinned; its definition is ${hash}`
            : `does not match its pin: its definition is now ${hash}`,
        )
      else if ('problem' in declared) reject(`declares invalid headers: ${declared.problem}`)
      else if (bytes > MAX_DEFINITION_BYTES)
        reject(`has a definition of ${bytes} bytes; the maximum is ${MAX_DEFINITION_BYTES}`)
      else if (total + bytes > MAX_DEFINITIONS_BYTES)
        reject(`brings all definitions to more than ${MAX_DEFINITIONS_BYTES} bytes`)
      else {
        const input = modelSchema(tool.inputSchema)
        total += bytes
        admitted.push({ tool, hash, input })
        for (const note of input.notes) notes.push(`the schema of ${shownName(tool)} is simplified: ${note}`)
      }
    } catch (error) {
      reject(`has no usable definition: ${asError(error).message}`)
    }
  }
  const missing = Object.keys(pin ?? {}).filter(name => !tools.some(tool => tool.name === name))
  return {
    admitted,
    rejected,
    problems: [
      ...atMost(
        rejected.map(each => `${shownName(each)} ${each.why}`),
        'more tools are left out',
      ),
      ...atMost(notes, 'more schemas are simplified'),
      ...missing.map(name => `${JSON.stringify(name)} is pinned, but the server does not have it`),
    ],
  }
}

const shownName = ({ name }: { name: string }): string => JSON.stringify(name.slice(0, 100))

const atMost = (sentences: readonly string[], rest: string): string[] => [
  ...sentences.slice(0, NAMES_SHOWN),
  ...(sentences.length > NAMES_SHOWN ? [`${sentences.length - NAMES_SHOWN} ${rest}`] : []),
]
