/**
 * Encrypts what the store keeps and must not be able to read: AES-256-GCM with a key of this service, in a
 * file of the data directory or given by the operator.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

export type Sealing = {
  /** Bound to what it is about: moved to another row it opens nothing. */
  seal(about: string, text: string): string
  /** Null: it was sealed with another key, or about something else. */
  open(about: string, sealed: string): string | null
}
/** `key`: 32 bytes in base64, in place of those in `file`; the same on all that share a database. */
export type SealingKey = { file: string; key?: string | undefined }

/** Throws where `key` is no key. The file is made when something is sealed or opened for the first time. */
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
        // Without the length a tag of four bytes would do.
        const options = { authTagLength: TAG_BYTES }
        const decipher = createDecipheriv(CIPHER, own, bytes.subarray(0, IV_BYTES), options)
          .setAAD(Buffer.from(about))
          .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
        return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)).toString('utf8') + decipher.final('utf8')
      } catch {
        // Another key sealed it: of a data directory that is gone, or another replica's. Or it was cut.
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
  // Whoever comes first makes it; `wx` lets only one.
  if (!existsSync(file))
    try {
      writeFileSync(file, randomBytes(KEY_BYTES), { mode: 0o600, flag: 'wx' })
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown
    }
  return readFileSync(file)
}
