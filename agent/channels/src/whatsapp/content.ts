/** What a WhatsApp message says, or in brackets what it shows. */
import type { Inbound } from '../adapter.ts'
import { described, lines } from '../described.ts'
import type { Message } from './payloads.ts'

export const mediaOf = ({ image, document, audio, video, sticker }: Message) =>
  image ?? document ?? audio ?? video ?? sticker

/** The value of one of our buttons; those of other programs that use the number have other ids. */
export function pressOf({ interactive }: Message): string | undefined {
  const id = interactive?.button_reply?.id ?? interactive?.list_reply?.id
  return id !== undefined && /^[a-z2-7]{10}:\d{1,3}$/.test(id) ? id : undefined
}

/** Empty if it has nothing that can be read here. */
export function shownText(message: Message): string {
  const { text, button, interactive, sticker, location, contacts, reaction, order } = message
  const reply = interactive?.button_reply ?? interactive?.list_reply
  const form = interactive?.nfm_reply
  if (text !== undefined) return text.body
  if (button !== undefined) return button.text || (button.payload ?? '')
  if (reply !== undefined) return lines([reply.title || reply.id, reply.description])
  if (form !== undefined) return described('Form', [form.response_json ?? form.body])
  if (sticker !== undefined) return '[Sticker]'
  if (location !== undefined)
    return described('Location', [
      `${location.latitude}, ${location.longitude}`,
      location.name,
      location.address,
    ])
  if (contacts !== undefined) return lines(contacts.map(contactText))
  if (reaction !== undefined) return described('Reaction', [reaction.emoji])
  if (order !== undefined) {
    const items = order.product_items.map(
      item => `${item.quantity ?? 1} × ${item.product_retailer_id ?? '?'}`,
    )
    return lines([described('Order', items), order.text])
  }
  return mediaOf(message)?.caption ?? ''
}

type Contact = NonNullable<Message['contacts']>[number]
const contactText = ({ name, org, phones, emails }: Contact): string =>
  described('Contact', [
    name?.formatted_name,
    org?.company,
    ...phones.map(({ phone }) => phone),
    ...emails.map(({ email }) => email),
  ])

/** The ad or the product that the person wrote from. */
export const originText = ({ referral, context }: Message): string =>
  lines([
    referral === undefined
      ? ''
      : described('Came from the ad', [referral.headline, referral.body, referral.source_url]),
    context?.referred_product === undefined
      ? ''
      : described('About the product', [context.referred_product.product_retailer_id]),
  ])

/** The message that it answers or reacts to: WhatsApp names its id only. */
export function answeredId({ context, reaction }: Message): Pick<Inbound, 'answers_id'> {
  const id = reaction?.message_id ?? context?.id
  return id === undefined ? {} : { answers_id: { event_key: keyOf(id), message_id: id } }
}
export const keyOf = (id: string): string => `w:${id}`

export const isForwarded = ({ context }: Message): boolean =>
  context?.forwarded === true || context?.frequently_forwarded === true
