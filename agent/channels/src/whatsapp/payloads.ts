/**
 * Payloads of the Cloud API's webhook, as far as they are used.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/components
 */
import { z } from 'zod'

const Media = z.looseObject({
  id: z.string(),
  mime_type: z.string().optional(),
  filename: z.string().optional(),
  caption: z.string().optional(),
})
const Reply = z.looseObject({ id: z.string(), title: z.string().optional() })

/** A person who hides their number behind a username has an id that is specific to this business. */
const Message = z.looseObject({
  from: z.string().optional(),
  from_user_id: z.string().optional(),
  id: z.string(),
  timestamp: z.string(),
  type: z.string(),
  text: z.looseObject({ body: z.string() }).optional(),
  interactive: z.looseObject({ button_reply: Reply.optional(), list_reply: Reply.optional() }).optional(),
  image: Media.optional(),
  document: Media.optional(),
  audio: Media.optional(),
  video: Media.optional(),
})
export type Message = z.infer<typeof Message>

const Status = z.looseObject({
  id: z.string(),
  status: z.string(),
  timestamp: z.string(),
  recipient_id: z.string().optional(),
  recipient_user_id: z.string().optional(),
  biz_opaque_callback_data: z.string().optional(),
  errors: z.array(z.looseObject({ code: z.number(), title: z.string().optional() })).optional(),
})
export type Status = z.infer<typeof Status>

const Value = z.looseObject({
  metadata: z.looseObject({ phone_number_id: z.string() }),
  contacts: z
    .array(
      z.looseObject({
        wa_id: z.string().optional(),
        user_id: z.string().optional(),
        profile: z.looseObject({ name: z.string().optional() }).optional(),
      }),
    )
    .default([]),
  messages: z.array(Message).default([]),
  statuses: z.array(Status).default([]),
})
export type Value = z.infer<typeof Value>

const Notification = z.looseObject({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(
    z.looseObject({ changes: z.array(z.looseObject({ field: z.string(), value: z.unknown() })) }),
  ),
})

/** The changes that concern messages; other notifications of a business account are ignored. */
export function valuesOf(payload: unknown): Value[] {
  const parsed = Notification.safeParse(payload)
  if (!parsed.success) return []
  return parsed.data.entry.flatMap(({ changes }) =>
    changes.flatMap(({ field, value }) => {
      const known = field === 'messages' ? Value.safeParse(value) : null
      return known?.success ? [known.data] : []
    }),
  )
}
