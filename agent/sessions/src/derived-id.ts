/** Ids derived from their cause: a repeated attempt finds what the first one created. */
import { createHash } from 'node:crypto'

export function derivedId(...from: readonly (string | number)[]): string {
  const bytes = createHash('sha1').update(from.join('\n')).digest().subarray(0, 16)
  // Formatted as a UUID of version 5, the hash of a name.
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
