/** Random tokens, and their hashes, which are all that the store holds. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes, base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')
export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
/** Compares two hex digests in constant time. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/**
 * Half of a marked secret is random; the other half is an HMAC that only the holder of the key can compute.
 */
const HALF = 16
const markOf = (key: Buffer, subject: string, random: Buffer): Buffer =>
  createHmac('sha256', key).update(`${subject}\n`).update(random).digest().subarray(0, HALF)

/** A secret of the usual form that can be recognised as issued here for this subject. */
export function markedSecret(key: Buffer, subject: string): string {
  const random = randomBytes(HALF)
  return Buffer.concat([random, markOf(key, subject, random)]).toString('base64url')
}

export function isMarked(key: Buffer, subject: string, secret: string): boolean {
  const bytes = Buffer.from(secret, 'base64url')
  return (
    bytes.length === 2 * HALF &&
    timingSafeEqual(bytes.subarray(HALF), markOf(key, subject, bytes.subarray(0, HALF)))
  )
}
