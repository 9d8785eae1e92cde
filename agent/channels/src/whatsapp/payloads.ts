/**
 * Payloads of the Cloud API's webhook, as far as they are used. A notification has the messages of several
 * people, so each is parsed alone: one that does not fit does not take the others along.
 * https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/components
 */
import { z } from 'zod'

const text = z.string().optional().catch(undefined)

const Media = z.looseObject({ id: z.string(), mime_type: text, filename: text, caption: text })
const Reply = z.looseObject({ id: z.string(), title: text, description: text })

/** A person who hides their number behind a username has an id that is specific to this business. */
const MessageHead = z.looseObject({
  from: text,
  from_user_id: text,
  id: z.string(),
  timestamp: z.string(),
  type: z.string().catch('unknown'),
})
export type MessageHead = z.infer<typeof MessageHead>

const Message = MessageHead.extend({
  text: z.looseObject({ body: z.string() }).optional(),
  /** A quick reply button of a template. */
  button: z.looseObject({ text, payload: text }).optional(),
  interactive: z
    .looseObject({
      button_reply: Reply.optional(),
      list_reply: Reply.optional(),
      nfm_reply: z.looseObject({ body: text, response_json: text }).optional(),
    })
    .optional(),
  image: Media.optional(),
  document: Media.optional(),
  audio: Media.optional(),
  video: Media.optional(),
  sticker: Media.optional(),
  location: z
    .looseObject({ latitude: z.number(), longitude: z.number(), name: text, address: text })
    .optional(),
  contacts: z
    .array(
      z.looseObject({
        name: z.looseObject({ formatted_name: text }).optional(),
        org: z.looseObject({ company: text }).optional(),
        phones: z.array(z.looseObject({ phone: text })).default([]),
        emails: z.array(z.looseObject({ email: text })).default([]),
      }),
    )
    .optional(),
  reaction: z.looseObject({ message_id: z.string(), emoji: text }).optional(),
  order: z
    .looseObject({
      text,
      product_items: z
        .array(z.looseObject({ product_retailer_id: text, quantity: z.coerce.string().optional() }))
        .default([]),
    })
    .optional(),
  /** The ad that the person came from. */
  referral: z.looseObject({ headline: text, body: text, source_url: text }).optional(),
  context: z
    .looseObject({
      id: text,
      forwarded: z.boolean().optional(),
      frequently_forwarded: z.boolean().optional(),
      referred_product: z.looseObject({ product_retailer_id: text }).optional(),
    })
    .optional(),
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

const Contact = z.looseObject({
  wa_id: text,
  user_id: text,
  profile: z.looseObject({ name: text }).optional().catch(undefined),
})
const anyList = z.array(z.unknown()).default([])
const Value = z.looseObject({
  metadata: z.looseObject({ phone_number_id: z.string() }),
  contacts: anyList,
  messages: anyList,
  statuses: anyList,
})

/** An element that does not fit its schema; `head` is what is known of a message. */
export type Malformed = { element: unknown; error: z.ZodError; head: MessageHead | null }
export type Value = {
  phoneNumberId: string
  contacts: z.infer<typeof Contact>[]
  messages: Message[]
  statuses: Status[]
  malformed: Malformed[]
}

const Notification = z.looseObject({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(
    z.looseObject({ changes: z.array(z.looseObject({ field: z.string(), value: z.unknown() })) }),
  ),
})

/** The changes that concern messages; other notifications of a business account are ignored. */
export function valuesOf(payload: unknown): (Value | Malformed)[] {
  const parsed = Notification.safeParse(payload)
  if (!parsed.success) return [{ element: payload, error: parsed.error, head: null }]
  return parsed.data.entry.flatMap(({ changes }) =>
    changes.flatMap(({ field, value }) => (field === 'messages' ? [readValue(value)] : [])),
  )
}

function readValue(value: unknown): Value | Malformed {
  const parsed = Value.safeParse(value)
  if (!parsed.success) return { element: value, error: parsed.error, head: null }
  const { metadata, contacts, messages, statuses } = parsed.data
  const malformed: Malformed[] = []
  const fitting = <T>(schema: z.ZodType<T>, elements: readonly unknown[]): T[] =>
    elements.flatMap(element => {
      const read = schema.safeParse(element)
      if (read.success) return [read.data]
      malformed.push({ element, error: read.error, head: MessageHead.safeParse(element).data ?? null })
      return []
    })
  return {
    phoneNumberId: metadata.phone_number_id,
    contacts: contacts.flatMap(contact => {
      const read = Contact.safeParse(contact)
      return read.success ? [read.data] : []
    }),
    messages: fitting(Message, messages),
    statuses: fitting(Status, statuses),
    malformed,
  }
}
