/** Groups sessions by day, in the reader's time zone. Pure. */
import type { Session, SessionSort } from '@cairn/protocol'
import { sessionsWords } from '../words/sessions.ts'

export type Day = { label: string; sessions: Session[] }

const midnight = (at: number): number => new Date(at).setHours(0, 0, 0, 0)

/** For example "Today", "Yesterday", "Monday", "12 March" or "12 March 2025". */
function dayLabel(at: number, now: number): string {
  const today = midnight(now)
  const day = midnight(at)
  if (day >= today) return sessionsWords.today
  // Rounded, because a day with a clock change does not have 24 hours.
  const days = Math.round((today - day) / 86_400_000)
  if (days === 1) return sessionsWords.yesterday
  const date = new Date(at)
  if (days < 7) return date.toLocaleDateString('en-GB', { weekday: 'long' })
  const isThisYear = date.getFullYear() === new Date(now).getFullYear()
  return date.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    ...(isThisYear ? {} : { year: 'numeric' }),
  })
}

/** Pinned sessions come first. Sorted by cost, the sessions form one group without a label. */
export function byDay(sessions: readonly Session[], sort: SessionSort, now: number): Day[] {
  if (sort === 'cost') return sessions.length === 0 ? [] : [{ label: '', sessions: [...sessions] }]
  const pinned = sessions.filter(session => session.pinned)
  const days: Day[] = pinned.length === 0 ? [] : [{ label: sessionsWords.pinned, sessions: pinned }]
  for (const session of sessions) {
    if (session.pinned) continue
    const label = dayLabel(Date.parse(sort === 'updated' ? session.updated_at : session.created_at), now)
    const last = days.at(-1)
    if (last?.label === label) last.sessions.push(session)
    else days.push({ label, sessions: [session] })
  }
  return days
}
