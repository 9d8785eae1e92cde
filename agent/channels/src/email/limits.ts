/** What mail servers take as a rule: RFC 5321 names no size, and most hosts refuse more than 25 MB in all. */
import type { Limits } from '../adapter.ts'

const MiB = 1024 * 1024

export const LIMITS: Limits = {
  text: 500_000,
  fileBytesIn: 25 * MiB,
  fileBytesOut: 10 * MiB,
}
/** Of a whole mail as it travels: files in base64 are a third longer. */
export const MAIL_BYTES = 36 * MiB
/** Of a mail that a mail server posts. */
export const POSTED_BYTES = 4 * MiB
/** Lines of a mail: 36 MiB of base64 have fewer than 500,000. */
export const LINES_MAX = 750_000
/** Files of a mail. */
export const PARTS_MAX = 1_000
/** The sender of a mail that was not parsed. */
export const UNREADABLE = 'unreadable'
/** Parts within parts. */
export const NESTING_MAX = 50
/** A subject goes on with so many characters of it. */
export const SUBJECT = 200
/** Others that a mail may name and its answer still goes to. */
export const MOST_OTHERS = 20
