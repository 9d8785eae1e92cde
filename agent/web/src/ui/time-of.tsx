/** When something happened: the time of day, with the day where it was another, and the whole of it on demand. */
import { useState } from 'react'
import { formatTime } from '../format.ts'

export function TimeOf({ at }: { at: string }) {
  // Of the moment it was drawn: a timer for each message would cost more than a date at midnight.
  const [now] = useState(() => Date.now())
  return (
    <time className="numeric" dateTime={at} title={new Date(at).toLocaleString('en-GB')}>
      {formatTime(at, now)}
    </time>
  )
}
