/** Signed messages, as the caller of a webhook creates them. */
import { createHmac, randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export type Said = {
  text?: string
  user?: string
  conversation?: string
  press?: string
  language?: string
  id?: string
  secret?: string
  at?: Date
}
/** A signed message, as the caller of the webhook creates it. */
export function signed({
  text = '',
  user = 'U1',
  conversation = 'C1',
  press,
  language,
  id = randomUUID(),
  secret = SECRET,
  at = new Date(),
}: Said): { headers: Headers; raw: Uint8Array } {
  const body = JSON.stringify({
    conversation_id: conversation,
    user_id: user,
    text,
    ...(press === undefined ? {} : { press }),
    ...(language === undefined ? {} : { language }),
  })
  const headers = new Headers({
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  })
  return { headers, raw: Buffer.from(body) }
}

/** Any bytes, signed as a mail server signs them: over the bytes themselves. */
export function signedBytes(
  raw: Uint8Array,
  { key = Buffer.alloc(32, 7), id = randomUUID() as string } = {},
): { headers: Headers; raw: Uint8Array } {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(raw).digest('base64')
  const headers = new Headers({
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  })
  return { headers, raw }
}
