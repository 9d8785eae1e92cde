/** The arguments of a call: as the model wrote them, as the tool gets them, and as the record has them. */
import { REDACTED, type Redact } from '@cairn/log'
import { asError, MAX_DEPTH, nestsTooDeep } from '@cairn/protocol'
import { argumentsHash, definedCallHash } from '../canonical-json.ts'
import type { Call } from './call.ts'
import type { Tool } from './tool.ts'
import { workspaceMask } from './workspace-mask.ts'

/** Arguments that fit their tool; an approval covers the `hash`. */
export type Accepted = { raw: Record<string, unknown>; args: Record<string, unknown>; hash: string }
type Parsed = Accepted | { raw: Record<string, unknown>; problem: string }

/** The arguments as the model wrote them. */
export function parseObject(text: string): { raw: Record<string, unknown>; problem?: string } {
  let value: unknown
  try {
    // Some models send nothing where there is nothing to say.
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (error) {
    return { raw: {}, problem: `they are not JSON (${asError(error).message})` }
  }
  if (nestsTooDeep(value)) return { raw: {}, problem: `they are nested deeper than ${MAX_DEPTH} levels` }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { raw: value as Record<string, unknown> }
  return {
    raw: {},
    problem:
      'they must be a JSON object, not ' +
      `${Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`}`,
  }
}

/** The arguments as the tool gets them: the workspace's path put in, and parsed by the tool's schema. */
export function parseArguments(text: string, tool: Tool, unmask: <T>(value: T) => T): Parsed {
  const { raw, problem } = parseObject(text)
  if (problem !== undefined) return { raw, problem }
  const parsed = tool.parameters.safeParse(unmask(raw))
  if (!parsed.success) {
    return {
      raw,
      problem: parsed.error.issues
        .slice(0, 5)
        .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
        .join('; '),
    }
  }
  try {
    return { raw, args: parsed.data, hash: approvalHash(tool, parsed.data) }
  } catch (error) {
    return { raw, problem: asError(error).message }
  }
}

const approvalHash = ({ definition }: Tool, args: Record<string, unknown>): string =>
  definition === undefined ? argumentsHash(args) : definedCallHash(definition.hash, args)

const marksIn = (json: string): number => json.split(REDACTED).length - 1

/** Arguments as the record has them, and how many parts of them were taken out: what hides says so. */
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

/** Texts of the arguments of those names. */
export const textsOf = (args: Record<string, unknown>, names: readonly string[] = []): string[] =>
  names.flatMap(name => args[name]).filter((value): value is string => typeof value === 'string')

/** Arguments of a call that was recorded by a worker that is gone; null when they do not parse any more. */
export function reparse(
  { workspace }: { workspace: string },
  tool: Tool,
  call: Call,
): Record<string, unknown> | null {
  const parsed = parseArguments(call.arguments, tool, workspaceMask(workspace).unmask)
  return 'problem' in parsed ? null : parsed.args
}
