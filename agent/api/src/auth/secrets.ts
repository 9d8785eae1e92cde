/** Random tokens, and the hashes that are all the store ever sees of them. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 32 random bytes, base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url')
export const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
/** Compares two hex digests in a time that does not tell where they differ. */
export const sameHash = (a: string, b: string): boolean =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
