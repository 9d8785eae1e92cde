/** Telegram's limits: core.telegram.org/bots/faq ("broadcasting") and /bots/api ("Sending files"). */
import type { Limits } from '../adapter.ts'

/** Ids of groups and channels are negative. */
const isGroup = ({ chat_id }: Record<string, unknown>): boolean => Number(chat_id) < 0

export const LIMITS: Limits = {
  // A plain text message holds 4096: a part may have to be sent without formatting.
  text: 4000,
  fileBytesIn: 20_000_000,
  fileBytesOut: 50_000_000,
  everyMs: target => (isGroup(target) ? 3_100 : 1_000),
  perSecond: 30,
  editEveryMs: target => (isGroup(target) ? 3_100 : 1_100),
  typingMs: 5_000,
}
/** Characters of a caption, and of an alert. */
export const CAPTION = 1024
export const ALERT = 200
