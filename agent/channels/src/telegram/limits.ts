/** What Telegram allows: core.telegram.org/bots/faq ("broadcasting") and /bots/api ("Sending files"). */
import type { Limits } from '../adapter.ts'

/** Ids of groups and channels are negative. */
const isGroup = ({ chat_id }: Record<string, unknown>): boolean => Number(chat_id) < 0

export const LIMITS: Limits = {
  // A message of plain text holds 4096: a part may lose its format on the way.
  text: 4000,
  fileBytesIn: 20_000_000,
  fileBytesOut: 50_000_000,
  everyMs: target => (isGroup(target) ? 3_100 : 1_000),
  perSecond: 30,
  editEveryMs: target => (isGroup(target) ? 3_100 : 1_100),
  typingMs: 5_000,
}
/** Characters below a file, and of an alert at a button. */
export const CAPTION = 1024
export const ALERT = 200
