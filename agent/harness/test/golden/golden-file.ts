/**
 * The golden log of a family is that of the newest version that wrote another one than those before it.
 * `UPDATE_GOLDEN=1` writes what differs into the folder of this version; logs of earlier versions stay as
 * they are, for the folds that must read them.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { SessionEvent } from '@cairn/protocol'
import { normalise } from './normalise.ts'

const VERSION = '0.2'
const LOGS = new URL('../../../state/test/golden/', import.meta.url)
const logOf = (version: string, family: string): URL => new URL(`${version}/${family}.jsonl`, LOGS)

/** What the golden log of the family is, beside what these events are, both normalised. */
export function compareGolden(
  family: string,
  events: readonly SessionEvent[],
): { golden: string; now: string } {
  const now = normalise(events.map(withoutDurations))
  const newest = readdirSync(LOGS)
    .toSorted()
    .findLast(version => existsSync(logOf(version, family)))
  const golden = newest === undefined ? null : readFileSync(logOf(newest, family), 'utf8')
  if (process.env['UPDATE_GOLDEN'] === '1' && (golden === null || normalise(parse(golden)) !== now)) {
    mkdirSync(new URL(VERSION, LOGS), { recursive: true })
    writeFileSync(logOf(VERSION, family), now)
    return { golden: now, now }
  }
  if (golden === null)
    throw new Error(`[golden] the family ${family} has no log yet: UPDATE_GOLDEN=1 writes it`)
  return { golden, now }
}

export const parse = (text: string): SessionEvent[] =>
  text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as SessionEvent)

/** How long something took is chance. */
const withoutDurations = (event: SessionEvent): SessionEvent =>
  JSON.parse(
    JSON.stringify(event, (key, value: unknown) =>
      key === 'elapsed_seconds' || key === 'duration_seconds' ? 0 : value,
    ),
  ) as SessionEvent
