/** Passwords as scrypt hashes that carry their own parameters: `scrypt$N$r$p$salt$hash`, base64url. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

const COST = { N: 2 ** 15, r: 8, p: 1 }
const LENGTH = 32
/** So many hashes at a time: each takes 32 MiB and a thread of the pool that file access shares. */
const AT_ONCE = 2

const derive = (password: string, salt: Buffer, { N, r, p }: typeof COST): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, LENGTH, { N, r, p, maxmem: 256 * N * r }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    )
  })

let running = 0
const waiting: (() => void)[] = []
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>(resolve => waiting.push(resolve))
  running++
  try {
    return await work()
  } finally {
    running--
    waiting.shift()?.()
  }
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await inTurn(() => derive(password, salt, COST))
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Costs the same for a user that does not exist or has no password: the time must not tell. */
export async function checkPassword(password: string, stored: string | null): Promise<boolean> {
  const [scheme, N, r, p, salt, hash] = (stored ?? DUMMY).split('$')
  if (scheme !== 'scrypt' || salt === undefined || hash === undefined)
    throw new Error('[password] the stored hash has an unknown form')
  const expected = Buffer.from(hash, 'base64url')
  const got = await inTurn(() =>
    derive(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) }),
  )
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
