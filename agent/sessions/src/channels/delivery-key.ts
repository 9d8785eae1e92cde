/** Keys that are the same at every attempt and in every process. */
import { createHash } from 'node:crypto'
import type { DeliveryId } from '@cairn/log'

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

export function base32(bytes: Uint8Array, length: number): string {
  let bits = 0
  let held = 0
  let text = ''
  for (const byte of bytes) {
    held = (held << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >>> (bits - 5)) & 31]
    held &= 31
    if (text.length >= length) break
  }
  return text.slice(0, length)
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

export const deliveryKey = ({ session_id, event_id, part }: DeliveryId): string =>
  base32(hash(`${session_id}/${event_id}/${part}`), 25)

/** Short enough for the button data of every platform. */
export const promptId = (sessionId: string, eventId: number): string =>
  base32(hash(`prompt/${sessionId}/${eventId}`), 10)
