/**
 * Maps an email to its conversation. The key is a hash of the Message-ID that started the thread, and every
 * Message-ID of ours contains it. So a reply from a program that keeps only In-Reply-To is assigned as well,
 * without a lookup.
 */
import { createHash } from 'node:crypto'
import { base32 } from '@cairn/sessions'

const KEY = 20
const OURS = /<([a-z2-7]{25})\.([a-z2-7]{20})@([^<>@\s]+)>/g

export const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1)

export const threadKey = (messageId: string): string =>
  base32(createHash('sha256').update(messageId).digest(), KEY)

/** The same at every attempt: email programs show a duplicate with the same id once. */
export const ourMessageId = (deliveryKey: string, conversation: string, address: string): string =>
  `<${deliveryKey}.${conversation}@${domainOf(address)}>`

export type OurId = { delivery_key: string; conversation: string }
/** Our Message-IDs in a text, in order. */
export const findOurs = (text: string, address: string): OurId[] =>
  [...text.matchAll(OURS)]
    .filter(([, , , domain]) => domain === domainOf(address))
    .map(([, delivery_key = '', conversation = '']) => ({ delivery_key, conversation }))

/** The Message-IDs of a header. */
export const idsOf = (header: string | undefined): string[] =>
  (header ?? '').match(/<[^<>\s]{1,500}>/g)?.slice(-50) ?? []

export type ThreadRef = {
  conversation: string
  /** The key if the sender may not write in that conversation. */
  own: string
  /** True for a reply to our email. */
  isReply: boolean
}

/** `ids` are those of References, then those of In-Reply-To. */
export function threadRef(
  messageId: string,
  ids: readonly string[],
  token: string | null,
  address: string,
): ThreadRef {
  const own = threadKey(messageId)
  const ours = findOurs(ids.join(' '), address).at(-1)
  const [root] = ids
  return {
    conversation: token ?? ours?.conversation ?? (root === undefined ? own : threadKey(root)),
    own,
    isReply: token !== null || ours !== undefined,
  }
}
