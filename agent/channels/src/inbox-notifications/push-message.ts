/** A push message: encrypted for one browser (RFC 8291, RFC 8188), and signed for its push service (RFC 8292). */
import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import type { PushKeys, PushTarget } from '@cairn/sessions'
import { importJWK, SignJWT } from 'jose'

const CURVE = 'prime256v1'
/** The message is one record, which is shorter. */
const RECORD_BYTES = 4096
/** Ends the last record. */
const DELIMITER = Buffer.of(2)
/** At most 24 hours are allowed. */
const SIGNATURE_S = 12 * 60 * 60

const fromBase64url = (text: string): Buffer => Buffer.from(text, 'base64url')
const derive = (key: Uint8Array, salt: Uint8Array, info: Uint8Array | string, bytes: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, info, bytes))

/** Throws if the key of the browser is not a point of the curve. */
export function encryptFor({ p256dh, auth }: PushTarget['keys'], text: string): Buffer {
  const browser = fromBase64url(p256dh)
  // A key pair and a salt of this message alone.
  const pair = createECDH(CURVE)
  const own = pair.generateKeys()
  const salt = randomBytes(16)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser, own])
  const input = derive(pair.computeSecret(browser), fromBase64url(auth), info, 32)
  const key = derive(input, salt, 'Content-Encoding: aes128gcm\0', 16)
  const nonce = derive(input, salt, 'Content-Encoding: nonce\0', 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce)
  const sealed = [cipher.update(Buffer.concat([Buffer.from(text), DELIMITER])), cipher.final()]
  const head = Buffer.alloc(21)
  salt.copy(head)
  head.writeUInt32BE(RECORD_BYTES, 16)
  head.writeUInt8(own.length, 20)
  return Buffer.concat([head, own, ...sealed, cipher.getAuthTag()])
}

/** The Authorization header. `contact` is where the push service reaches the operator. */
export async function signFor(
  endpoint: string,
  { publicKey, privateKey }: PushKeys,
  contact: string,
  now: number,
): Promise<string> {
  // The uncompressed point: one byte, then the two coordinates.
  const point = fromBase64url(publicKey)
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map(part => part.toString('base64url'))
  const key = await importJWK({ kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '', d: privateKey }, 'ES256')
  const token = await new SignJWT({ sub: contact })
    .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
    .setAudience(new URL(endpoint).origin)
    .setExpirationTime(Math.floor(now / 1000) + SIGNATURE_S)
    .sign(key)
  return `vapid t=${token}, k=${publicKey}`
}
