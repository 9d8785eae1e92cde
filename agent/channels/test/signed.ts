/** Signed messages, as the caller of a webhook makes them. */
import { randomUUID } from 'node:crypto'
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
/** A signed message, as the caller of the webhook makes it. */
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
