/** Times that lie ahead, in the reader's time zone. */
import { formatLeft } from '@cairn/protocol'
import { formatTime } from '../format.ts'
import { timesWords } from '../words/times.ts'

/** For example "in 29 min, 10:00". */
export function formatAhead(iso: string, now: number): string {
  const left = Date.parse(iso) - now
  const clock = formatTime(iso, now)
  return left < 60_000 ? timesWords.due(clock) : timesWords.ahead(formatLeft(left), clock)
}

export const TimeAhead = ({ at, now }: { at: string; now: number }) => (
  <time className="numeric" dateTime={at} title={new Date(at).toLocaleString('en-GB')}>
    {formatAhead(at, now)}
  </time>
)
