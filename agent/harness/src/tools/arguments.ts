/** The arguments of a call: as written by the model, as passed to the tool, and as recorded. */
import { REDACTED, type Redact } from '@cairn/log'
import { readArguments } from '@cairn/models'
import { asError } from '@cairn/protocol'
import type { z } from 'zod'
import { argumentsHash, definedCallHash } from './canonical-json.ts'
import type { Call } from './call.ts'
import { correctArguments } from './correct-arguments.ts'
import { toolJsonSchema } from './parameters.ts'
import type { Tool } from './tool.ts'
import { workspaceMask } from './workspace-mask.ts'

/** Arguments as recorded, with what was corrected in those of the model. */
export type Recorded = { raw: Record<string, unknown>; corrections?: readonly string[] }
/** Arguments that match the tool's schema; an approval covers the `hash`. */
export type Accepted = Recorded & { args: Record<string, unknown>; hash: string }
type Parsed = Accepted | { raw: Record<string, unknown>; problem: string }

/** Reads the arguments as the model wrote them. */
export function parseObject(text: string): { raw: Record<string, unknown>; problem?: string } {
  const read = readArguments(text)
  return 'problem' in read ? { raw: {}, problem: read.problem } : { raw: read.value }
}

/**
 * The arguments for the tool: with the workspace's path inserted, and parsed by the tool's schema. If they do
 * not match it, they are parsed once more after corrections.
 */
export function parseArguments(text: string, tool: Tool, unmask: <T>(value: T) => T): Parsed {
  const { raw: written, problem } = parseObject(text)
  if (problem !== undefined) return { raw: written, problem }
  const first = tool.parameters.safeParse(unmask(written))
  // The server of an MCP tool validates its arguments, so the schema that it gave is compared here.
  const { raw, corrections } =
    first.success && tool.jsonSchema === undefined ? { raw: written } : corrected(written, tool)
  const parsed = corrections === undefined ? first : tool.parameters.safeParse(unmask(raw))
  if (!parsed.success) return { raw: written, problem: describeIssues(first.error ?? parsed.error) }
  try {
    return {
      raw,
      args: parsed.data,
      hash: approvalHash(tool, parsed.data),
      ...(corrections === undefined ? {} : { corrections }),
    }
  } catch (error) {
    return { raw, problem: asError(error).message }
  }
}

function corrected(raw: Record<string, unknown>, tool: Tool): Recorded {
  const rules = { dropUnknown: tool.readOnly, caps: tool.caps ?? [] }
  const { value, corrections } = correctArguments(raw, toolJsonSchema(tool), rules)
  return corrections.length === 0 ? { raw } : { raw: value, corrections }
}

const describeIssues = ({ issues }: z.core.$ZodError): string =>
  issues
    .slice(0, 5)
    .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
    .join('; ')

const approvalHash = ({ definition }: Tool, args: Record<string, unknown>): string =>
  definition === undefined ? argumentsHash(args) : definedCallHash(definition.hash, args)

const marksIn = (json: string): number => json.split(REDACTED).length - 1

/** The arguments to record, and the number of redacted parts, so that redaction is visible. */
export function recordedArguments(
  redact: Redact,
  args: Record<string, unknown>,
): { arguments: Record<string, unknown>; redactions?: number } {
  const json = JSON.stringify(args)
  const recorded = redact(json, 'arguments')
  if (recorded === json) return { arguments: args }
  return {
    arguments: JSON.parse(recorded) as Record<string, unknown>,
    redactions: Math.max(1, marksIn(recorded) - marksIn(json)),
  }
}

/** The text values of the named arguments. */
export const textsOf = (args: Record<string, unknown>, names: readonly string[] = []): string[] =>
  names.flatMap(name => args[name]).filter((value): value is string => typeof value === 'string')

/** Arguments of a call recorded by an earlier runner; null if they are no longer valid. */
export function reparse(
  { workspace }: { workspace: string },
  tool: Tool,
  call: Call,
): Record<string, unknown> | null {
  const parsed = parseArguments(call.arguments, tool, workspaceMask(workspace).unmask)
  return 'problem' in parsed ? null : parsed.args
}
