/**
 * How many attempts the attack suites make, and the count of them. `npm run security` sets both variables and
 * prints the table.
 */
import { appendFileSync } from 'node:fs'

/** A sample in `npm test`, the full count in `npm run security`. */
export const attempts = (sample: number, full: number): number =>
  process.env['ATTACKS'] === 'full' ? full : sample

/** Adds a line to the table. `unexpected` counts outcomes other than those that the test asks for. */
export function tally(part: string, tried: number, unexpected: number): void {
  const file = process.env['ATTACK_TALLY']
  if (file) appendFileSync(file, `${JSON.stringify({ part: `tune: ${part}`, tried, unexpected })}\n`)
}
