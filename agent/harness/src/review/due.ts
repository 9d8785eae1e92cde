/** When a session is looked back over, decided from its fold alone. Pure. */
import type { ReviewConfig } from '@cairn/protocol'
import type { Review } from '@cairn/state'

/** After so many turns; one that began and never ended is done over once its worker must be dead. */
export function reviewDue(
  { turns, open }: Review,
  { memory, skills, every_turns, timeout_s }: ReviewConfig,
  now: number,
): boolean {
  if (!memory && !skills) return false
  return open === null ? turns >= every_turns : now - Date.parse(open.at) > 2 * timeout_s * 1000
}
