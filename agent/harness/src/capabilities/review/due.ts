/** When a session is reviewed, decided from its fold alone. Pure. */
import type { ReviewConfig } from '@cairn/protocol'
import type { Review } from '@cairn/state'

/** After a number of turns; an unfinished review is repeated once its runner must have crashed. */
export function reviewDue(
  { turns, open }: Review,
  { memory, skills, every_turns, timeout_s }: ReviewConfig,
  now: number,
): boolean {
  if (!memory && !skills) return false
  return open === null ? turns >= every_turns : now - Date.parse(open.at) > 2 * timeout_s * 1000
}
