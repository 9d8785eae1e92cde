/**
 * The golden log of a family, by the version that wrote it. `UPDATE_GOLDEN=1` writes one that is not there;
 * those there are stay as they are.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { SessionEvent } from '@cairn/protocol'
import { normalise } from './normalise.ts'

const VERSION = '0.1'

/** What the golden log of the family is, beside what these events are, both normalised. */
export function compareGolden(
  family: string,
  events: readonly SessionEvent[],
): { golden: string; now: string } {
  const file = new URL(`../../../state/test/golden/${VERSION}/${family}.jsonl`, import.meta.url)
  const now = normalise(events.map(withoutDurations))
  if (process.env['UPDATE_GOLDEN'] === '1' && !existsSync(file)) writeFileSync(file, now)
  return { golden: readFileSync(file, 'utf8'), now }
}

/** How long something took is chance. */
const withoutDurations = (event: SessionEvent): SessionEvent =>
  JSON.parse(
    JSON.stringify(event, (key, value: unknown) =>
      key === 'elapsed_seconds' || key === 'duration_seconds' ? 0 : value,
    ),
  ) as SessionEvent
