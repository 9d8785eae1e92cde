/** Discord's limits: docs.discord.com/developers, "Message", "Uploading Files", "Rate Limits". */
import type { Limits } from '../adapter.ts'

export const LIMITS: Limits = {
  text: 2_000,
  fileBytesIn: 10_000_000,
  fileBytesOut: 10_000_000,
  perSecond: 50,
  editEveryMs: () => 1_500,
  typingMs: 10_000,
}
export const BUTTONS_A_ROW = 5
export const MAX_BUTTONS = 25
/** Characters of a button label, and of a thread name. */
export const LABEL = 80
export const THREAD_NAME = 90
