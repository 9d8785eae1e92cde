/**
 * The Ed25519 key that signs user tokens. Created on first start in the data directory, readable by its owner
 * only.
 */
import { chmod, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'
import { hkdfSync, randomUUID } from 'node:crypto'

export const SIGNING_ALGORITHM = 'EdDSA'
export type SigningKey = {
  privateKey: CryptoKey
  publicKey: CryptoKey
  /** Marks the refresh secrets that this server issued (logins.ts). */
  refreshKey: Buffer
}
/** The file exists but holds no key: only a person knows whether there is a copy. */
export class DamagedKeyFile extends Error {
  override readonly name = 'DamagedKeyFile'
  constructor(file: string, what: string, cause?: unknown) {
    super(
      `${file} contains no valid signing key: ${what}. Restore it from a backup. ` +
        'Or move it away: the next start then creates a new key, all users must log in again, and ' +
        'service accounts keep their tokens.',
      { cause },
    )
  }
}

const FILE = 'auth-key.json'

export async function loadSigningKey(dataDir: string): Promise<SigningKey> {
  const file = join(dataDir, FILE)
  const jwk = (await readKey(file)) ?? (await makeKey(dataDir, file))
  return importKey(file, jwk)
}

/** What is wrong with the key of a data directory, as a sentence; null if it is valid or not created yet. */
export async function signingKeyProblem(dataDir: string): Promise<string | null> {
  const file = join(dataDir, FILE)
  try {
    const jwk = await readKey(file)
    if (jwk !== null) await importKey(file, jwk)
    return null
  } catch (error) {
    return asError(error).message
  }
}

async function importKey(file: string, jwk: PrivateKey): Promise<SigningKey> {
  const { d, ...open } = jwk
  try {
    return {
      privateKey: (await importJWK(jwk, SIGNING_ALGORITHM)) as CryptoKey,
      publicKey: (await importJWK(open, SIGNING_ALGORITHM)) as CryptoKey,
      refreshKey: Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'cairn refresh', 32)),
    }
  } catch (error) {
    throw new DamagedKeyFile(file, 'the key cannot be used', error)
  }
}

/**
 * Makes all processes of a store sign with one key: `agree` receives our key and returns the shared one. A
 * key that only this directory had is kept in the same directory, in case it belongs to another store.
 */
export async function shareSigningKey(
  dataDir: string,
  agree: (ours: string) => Promise<string>,
): Promise<void> {
  const file = join(dataDir, FILE)
  const ours = JSON.stringify((await readKey(file)) ?? (await makeKey(dataDir, file)))
  const agreed = await agree(ours)
  if (agreed === ours) return
  await writeFile(join(dataDir, `replaced-${randomUUID()}-${FILE}`), ours, { mode: 0o600, flag: 'wx' })
  const next = `${file}.${randomUUID()}`
  await writeFile(next, agreed, { mode: 0o600, flag: 'wx' })
  await rename(next, file)
}

/** The private keys of this directory, replaced ones too, which must never reach an event or a log line. */
export async function signingSecrets(dataDir: string): Promise<string[]> {
  const files = (await readdir(dataDir)).filter(name => name.endsWith(FILE))
  const keys = await Promise.all(files.map(name => readKey(join(dataDir, name))))
  return keys.flatMap(key => key?.d ?? [])
}

type PrivateKey = JWK & { d: string }

async function readKey(file: string): Promise<PrivateKey | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600)
  return parseKey(file, text)
}

function parseKey(file: string, text: string): PrivateKey {
  if (text.trim() === '') throw new DamagedKeyFile(file, 'the file is empty')
  let jwk: unknown
  try {
    jwk = JSON.parse(text)
  } catch (error) {
    throw new DamagedKeyFile(file, 'the file is not JSON', error)
  }
  if (!isPrivateKey(jwk)) throw new DamagedKeyFile(file, 'the file is not a private key in JWK format')
  return jwk
}

const isPrivateKey = (value: unknown): value is PrivateKey =>
  typeof value === 'object' &&
  value !== null &&
  'kty' in value &&
  value.kty === 'OKP' &&
  'd' in value &&
  typeof value.d === 'string'

/**
 * Two processes may start at once: a hard link makes the complete file appear atomically, and the second
 * process uses the key of the first.
 */
async function makeKey(dataDir: string, file: string): Promise<PrivateKey> {
  await mkdir(dataDir, { recursive: true })
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { crv: 'Ed25519', extractable: true })
  const own = `${file}.${randomUUID()}`
  await writeFile(own, JSON.stringify(await exportJWK(pair.privateKey)), { mode: 0o600, flag: 'wx' })
  try {
    await link(own, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(own)
  }
  const jwk = await readKey(file)
  if (jwk === null) throw new Error(`[signing key] ${file} disappeared right after it was created`)
  return jwk
}
