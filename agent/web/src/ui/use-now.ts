/** A clock for relative times. */
import { useEffect, useState } from 'react'
import { generalWords } from '../words/general.ts'

export function useNow(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/** For example "now", "5 min", "3 h", "yesterday" or "12 Mar". */
export function formatAgo(iso: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000)
  if (seconds < 45) return generalWords.now
  if (seconds < 3600) return generalWords.minutesAgo(Math.max(1, Math.round(seconds / 60)))
  if (seconds < 86_400) return generalWords.hoursAgo(Math.round(seconds / 3600))
  if (seconds < 172_800) return generalWords.yesterday
  return new Date(iso).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
}
