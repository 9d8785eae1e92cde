/** The time of an event, with the date if it was another day, and the full time on demand. */
import { useState } from 'react'
import { formatTime } from '../format.ts'

export function TimeOf({ at }: { at: string }) {
  // The time of the first render: a timer for each message would cost more than an outdated date after
  // midnight.
  const [now] = useState(() => Date.now())
  return (
    <time className="numeric" dateTime={at} title={new Date(at).toLocaleString('en-GB')}>
      {formatTime(at, now)}
    </time>
  )
}
