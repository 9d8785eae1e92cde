/** Times for people at a terminal. `--json` keeps RFC 3339. */
import { formatInZone } from '@cairn/protocol'

/** "29 Nov, 03:04" in the time zone of the terminal, with the year if it is another one. */
export const terminalTime = (
  iso: string,
  now: number = Date.now(),
  zone: string = Intl.DateTimeFormat().resolvedOptions().timeZone,
): string => formatInZone(Date.parse(iso), now, zone)

/** The width of a column of times of this year. */
export const TIME_WIDTH = '29 Nov, 03:04'.length
