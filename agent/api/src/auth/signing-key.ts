/**
 * The key that signs user tokens: Ed25519, made on first start in the data directory, readable by its owner
 * only.
 */
import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'
import { randomUUID } from 'node:crypto'

export const SIGNING_ALGORITHM = 'EdDSA'
export type SigningKey = { privateKey: CryptoKey; publicKey: CryptoKey }

const FILE = 'auth-key.json'

export async function loadSigningKey(dataDir: string): Promise<SigningKey> {
  const file = join(dataDir, FILE)
  const jwk = (await readKey(file)) ?? (await makeKey(dataDir, file))
  const { d: _private, ...open } = jwk
  return {
    privateKey: (await importJWK(jwk, SIGNING_ALGORITHM)) as CryptoKey,
    publicKey: (await importJWK(open, SIGNING_ALGORITHM)) as CryptoKey,
  }
}

/**
 * Processes of one store sign with one key: `agree` is told ours and gives back everybody's. A key that only
 * this directory had is kept beside it, for the store that it belongs to.
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

async function readKey(file: string): Promise<JWK | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (((await stat(file)).mode & 0o077) !== 0) await chmod(file, 0o600)
  return JSON.parse(text) as JWK
}

/**
 * Two processes may start at once: the file appears whole by a link, and the second takes what the first has
 * made.
 */
async function makeKey(dataDir: string, file: string): Promise<JWK> {
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
  if (jwk === null) throw new Error(`[signing key] ${file} vanished right after it was made`)
  return jwk
}
