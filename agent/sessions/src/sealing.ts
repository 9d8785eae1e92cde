/**
 * Encrypts secrets in the store: AES-256-GCM with a key of this service, from a file in the data directory or
 * from the operator.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

export type Sealing = {
  /** `about` is authenticated: a value moved to another row cannot be decrypted. */
  seal(about: string, text: string): string
  /** Null if it was encrypted with another key or `about`. */
  open(about: string, sealed: string): string | null
}
/** `key`: 32 bytes in base64, used instead of `file`; identical for all processes that share a database. */
export type SealingKey = { file: string; key?: string | undefined }

/**
 * Throws if `key` is invalid. The file is created when something is encrypted or decrypted for the first
 * time.
 */
export function createSealing({ file, key: given }: SealingKey): Sealing {
  let key = given === undefined ? null : keyOf(given)
  const secret = (): Buffer => (key ??= keyIn(file))
  return {
    seal(about, text) {
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv(CIPHER, secret(), iv).setAAD(Buffer.from(about))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
    },
    open(about, sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      const own = secret()
      try {
        // Without an explicit length, a tag of four bytes would be accepted.
        const options = { authTagLength: TAG_BYTES }
        const decipher = createDecipheriv(CIPHER, own, bytes.subarray(0, IV_BYTES), options)
          .setAAD(Buffer.from(about))
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)).toString('utf8') + decipher.final('utf8')
      } catch {
        // Encrypted with the key of a lost data directory or of another replica, or truncated.
        return null
      }
    },
  }
}

function keyOf(given: string): Buffer {
  const key = Buffer.from(given, 'base64')
  if (key.length !== KEY_BYTES) throw new Error('CAIRN_SECRETS_KEY must be 32 bytes in base64')
  return key
}

function keyIn(file: string): Buffer {
  // The first process creates the file; `wx` makes the others fail and read it.
  if (!existsSync(file))
    try {
      writeFileSync(file, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  return readFileSync(file)
}
