/**
 * The count of what the attack suites tried. `npm run security` runs every suite below a folder named
 * security/ with every case, collects the counts in the file that ATTACK_TALLY names, and prints them.
 */
import { appendFileSync } from 'node:fs'

/** One line of the table. `unexpected` counts outcomes that differ from what docs/security.md promises. */
export type Tally = { part: string; tried: number; unexpected: number }

export { rounds } from './sample.ts'

/** Adds a line to the table of `npm run security`; in `npm test` nobody collects it. */
export function tally(part: string, tried: number, unexpected: number): void {
  const file = process.env['ATTACK_TALLY']
  if (file) appendFileSync(file, `${JSON.stringify({ part, tried, unexpected } satisfies Tally)}\n`)
}
