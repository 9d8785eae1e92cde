/**
 * Shared by the attack suites: the duration of attacks, and the count of attempts. `npm run security` sets
 * both variables, runs every suite below a folder named security/ and prints the table.
 */
import { appendFileSync } from 'node:fs'

/** One line of the table. `unexpected` counts outcomes that differ from what docs/security.md promises. */
export type Tally = { part: string; tried: number; unexpected: number }

/** How often or how long an attack is tried: a sample in `npm test`, every case in `npm run security`. */
export const rounds = (sample: number, full: number): number =>
  process.env['ATTACKS'] === 'full' ? full : sample

/** Adds a line to the table of `npm run security`; `npm test` ignores it. */
export function tally(part: string, tried: number, unexpected: number): void {
  const file = process.env['ATTACK_TALLY']
  if (file) appendFileSync(file, `${JSON.stringify({ part, tried, unexpected } satisfies Tally)}\n`)
}
