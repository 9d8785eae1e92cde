/** Names of tools as models write them, and as servers accept them back. */
import { matcherOf } from './matcher.ts'

/** Parts of a chat template that some servers leave in the name: "functions.read_file:0", "read<|channel|>". */
const LEFTOVER = /^(?:functions|tools)\.|(?::\d+|<\|.*)$/gs
const AROUND = /^["'`\s]+|["'`\s]+$/g

const bare = (name: string): string => name.replaceAll(AROUND, '').replaceAll(LEFTOVER, '')

/**
 * The known tool that a written name means: the same name, or the only one that differs in blanks, quotes,
 * case or leftovers of a template. Undefined if there is none.
 */
export function findToolName(written: string, known: Iterable<string>): string | undefined {
  const names = [...known]
  if (names.includes(written)) return written
  const meant = bare(written)
  if (names.includes(meant)) return meant
  const alike = names.filter(name => name.toLowerCase() === meant.toLowerCase())
  return alike.length === 1 ? alike[0] : undefined
}

const MAX_LENGTHS = [64, 63, 48, 32, 16]

/** A name that matches the pattern, as close to the written one as possible. */
export function acceptedName(written: string, known: readonly string[], pattern: string): string {
  const matches = matcherOf(pattern)
  if (matches(written)) return written
  const name = findToolName(written, known) ?? bare(written).replaceAll(/[^a-zA-Z0-9_-]/g, '_')
  const candidates = [name, `tool_${name}`].flatMap(one => MAX_LENGTHS.map(length => one.slice(0, length)))
  return candidates.find(matches) ?? 'unknown_tool'
}
