/**
 * Ids of tool calls as servers accept them: each matches the profile's pattern and is used once. The same
 * conversation always yields the same ids.
 */
import { createHash } from 'node:crypto'
import type { ServerProfile } from '../servers/profiles.ts'
import { matcherOf } from './matcher.ts'

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Letters and digits only, which every server accepts. The max length is that of the hash. */
function lettersOf(text: string, length: number): string {
  const bytes = createHash('sha512').update(text).digest()
  return [...bytes.subarray(0, length)].map(byte => LETTERS[byte % LETTERS.length]).join('')
}

export function idsFor({ tool_id_pattern, tool_id_length }: ServerProfile): (written: string) => string {
  const matches = matcherOf(tool_id_pattern)
  const used = new Set<string>()
  return written => {
    const isFree = (id: string): boolean => matches(id) && !used.has(id)
    let id = [written, written.replaceAll(/[^a-zA-Z0-9_-]/g, '_')].find(isFree)
    for (let round = 0; id === undefined; round++) {
      const derived = lettersOf(`${round}:${written}`, tool_id_length)
      if (isFree(derived)) id = derived
    }
    used.add(id)
    return id
  }
}
