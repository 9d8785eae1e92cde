/** Reads delivery reports about our emails (RFC 3464): permanent failures. */
import type { PartStatus } from '@cairn/log'
import { findOurs } from './thread.ts'

/** A report quotes the header of the failed email; any content behind it is irrelevant. */
const LOOKED_AT = 256 * 1024

/** Null if it is not about our email, or delivery is still being tried. */
export function bounceOf(raw: Uint8Array, address: string): PartStatus | null {
  const text = Buffer.from(raw.subarray(0, LOOKED_AT)).toString('latin1')
  if (!/^Action:\s*failed\b/im.test(text)) return null
  const [ours] = findOurs(text, address)
  if (ours === undefined) return null
  const status = /^Status:\s*(\d\.\d{1,3}\.\d{1,3})/im.exec(text)?.[1] ?? 'no status'
  const said = /^Diagnostic-Code:\s*([^\r\n]{1,200})/im.exec(text)?.[1] ?? 'no reason given'
  return {
    key: ours.delivery_key,
    outcome: 'failed',
    message_id: `${ours.delivery_key}.${ours.conversation}`,
    error: `the email bounced (${status}): ${said}`,
  }
}
