/** The times until which an item can be snoozed, in the person's time zone. Pure. */

export const SNOOZE_IDS = ['hour', 'tomorrow', 'monday'] as const
export type SnoozeId = (typeof SNOOZE_IDS)[number]

const HOUR_MS = 3_600_000
/** The hour at which a working day begins. */
const MORNING = 9
const MONDAY = 1

/** Nine o'clock some days later, also where a clock change is in between. */
const morningAfter = (now: Date, days: number): Date =>
  new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING)

export function snoozeTime(id: SnoozeId, now: Date): Date {
  if (id === 'hour') return new Date(now.getTime() + HOUR_MS)
  if (id === 'tomorrow') return morningAfter(now, 1)
  // On a Monday, the next one.
  return morningAfter(now, ((MONDAY - now.getDay() + 6) % 7) + 1)
}
