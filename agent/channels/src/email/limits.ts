/** Typical limits of mail servers: RFC 5321 names no size, and most hosts reject more than 25 MB in all. */
import type { Limits } from '../adapter.ts'

const MiB = 1024 * 1024

export const LIMITS: Limits = {
  text: 500_000,
  fileBytesIn: 25 * MiB,
  fileBytesOut: 10 * MiB,
}
/** Bytes of a whole encoded email: base64 makes files a third larger. */
export const MAX_EMAIL_BYTES = 36 * MiB
/** Bytes of an email that a mail server posts. */
export const POSTED_BYTES = 4 * MiB
/** Lines of an email: 36 MiB of base64 have fewer than 500,000. */
export const LINES_MAX = 750_000
/** Files of an email. */
export const PARTS_MAX = 1_000
/** Attached emails whose text is read; the others are files only. */
export const FORWARDS_MAX = 5
/** The sender of an email that could not be parsed. */
export const UNREADABLE = 'unreadable'
/** Nesting of MIME parts. */
export const NESTING_MAX = 50
/** Characters of a subject that are kept in replies. */
export const SUBJECT = 200
/** Maximum other recipients with which a reply still includes them. */
export const MAX_OTHERS = 20
