/** Messages of the webhook in both directions; docs/channels/webhook.md documents them for callers. */
import { z } from 'zod'

/** Stored as a key: Postgres accepts no U+0000, and lone surrogates would make two ids equal. */
const id = z
  .string()
  .min(1)
  .max(200)
  .refine(text => text.isWellFormed() && !text.includes('\0'), 'must be valid Unicode without U+0000')
export const WebhookMessage = z
  .strictObject({
    conversation_id: id,
    user_id: id,
    user_name: z.string().max(200).optional(),
    text: z.string().max(100_000).default(''),
    press: z.string().min(1).max(32).optional(),
    language: z.string().max(20).optional(),
  })
  .refine(({ text, press }) => press !== undefined || text.trim() !== '', {
    path: ['text'],
    error: 'must not be blank unless press is set',
  })

export type WebhookPart = {
  type: string
  conversation_id: string
  part: number
  text: string
  event_id?: number
  prompt?: { id: string; choices: { value: string; label: string }[] }
}
