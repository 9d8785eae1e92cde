/**
 * Passwords as scrypt hashes that carry their own parameters: `scrypt$N$r$p$salt$hash`, base64url. Each takes
 * 32 MiB and a thread of the pool that file access shares, so requests queue for it (hash-queue.ts).
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

const COST = { N: 2 ** 15, r: 8, p: 1 }
const LENGTH = 32

const derive = (password: string, salt: Buffer, { N, r, p }: typeof COST): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, LENGTH, { N, r, p, maxmem: 256 * N * r }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    )
  })

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, COST)
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Takes as long for a user that does not exist or has no password, so that timing reveals nothing. */
export async function checkPassword(password: string, stored: string | null): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = (stored ?? DUMMY).split('$')
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined)
    throw new Error('[password] unknown format of the stored hash')
  const expected = Buffer.from(hash, 'base64url')
  const got = await derive(password, Buffer.from(salt, 'base64url'), {
    N: Number(N),
    r: Number(r),
    p: Number(p),
  })
  return got.length === expected.length && timingSafeEqual(got, expected) && stored !== null
}

const DUMMY = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  Buffer.alloc(16).toString('base64url'),
  Buffer.alloc(LENGTH).toString('base64url'),
].join('$')
