/**
 * Parses an email: its author, conversation, text and files. Pure, but slow for some input, so
 * email-process.ts runs it off the event loop.
 */
import { createHash } from 'node:crypto'
import PostalMime, { type Email } from 'postal-mime'
import type { FileRef, Inbound } from '../adapter.ts'
import type { Quotation } from '../quotation.ts'
import { automatic, type HeadersOf, isReport } from './automatic.ts'
import { bounceOf } from './bounce.ts'
import { FORWARDS_MAX, LINES_MAX, NESTING_MAX, PARTS_MAX, SUBJECT } from './limits.ts'
import { othersOf, type Person, recipientsOf, senderOf } from './people.ts'
import { verdictOf } from './proof.ts'
import { createTokens } from './reply-token.ts'
import { attachedText, textOf } from './text.ts'
import { idsOf, threadKey, type ThreadRef, threadRef } from './thread.ts'

/** The target of answers, stored in the row of the conversation. */
export type EmailTarget = {
  conversation: string
  to: Person
  others: Person[]
  subject: string
  /** The email to reply to, and those before it; empty to start a thread. */
  message_id: string
  references: string[]
  /** Participants who may write to the conversation, as in `source.user_id`. */
  people: string[]
  /** The inbound email was sent to the signed address of the conversation. */
  has_token: boolean
}

/** Target of a new outbound email. A reply to it starts its own conversation. */
export const targetFor = (address: string, subject: string): EmailTarget => ({
  conversation: threadKey(`to:${address}`),
  to: { name: '', address },
  others: [],
  subject,
  message_id: '',
  references: [],
  people: [address],
  has_token: false,
})

/** Plain data, because it is passed to another process. */
export type Self = {
  address: string
  authservId: string | null
  tokens: { template: string; secret: string; connectionId: string } | null
}
/** Plain data, because it is passed to another process. */
export type Received = {
  raw: Uint8Array
  /** Epoch milliseconds. */
  at: number
  /** Shown in place of what was not fetched. */
  note?: string
  /** Where its files can be fetched later; null if they must be kept with the message. */
  place: Record<string, unknown> | null
}

const LF = '\n'.charCodeAt(0)
/** A longer Message-ID is replaced by its hash in keys. */
const ID = 200

/** Throws if the parser rejects the email, or if it exceeds a limit. */
async function readMail(raw: Uint8Array): Promise<Email> {
  // Parsing time grows with the number of lines, however short they are.
  if (hasMoreLines(raw, LINES_MAX)) throw new Error(`more than ${LINES_MAX} lines`)
  // An attached email stays an attachment: its text is not the sender's.
  const email = await parseMail(raw)
  if (email.attachments.length > PARTS_MAX) throw new Error(`more than ${PARTS_MAX} files`)
  return email
}

const parseMail = (raw: Uint8Array): Promise<Email> =>
  new PostalMime({ forceRfc822Attachments: true, maxNestingDepth: NESTING_MAX }).parse(raw)

function hasMoreLines(raw: Uint8Array, max: number): boolean {
  let count = 0
  for (let at = raw.indexOf(LF); at >= 0; at = raw.indexOf(LF, at + 1)) if (++count > max) return true
  return false
}

const EMAIL_TYPE = 'message/rfc822'

/** Emails that the sender forwards as attachments; they are files as well. */
async function forwardsIn({ attachments }: Email): Promise<Quotation[]> {
  const emails = attachments.filter(({ mimeType }) => mimeType === EMAIL_TYPE).slice(0, FORWARDS_MAX)
  const read = await Promise.all(
    emails
      .map(({ content }) => bytesOf(content))
      .filter(raw => !hasMoreLines(raw, LINES_MAX))
      // An email that the parser rejects still arrives as a file.
      .map(raw => parseMail(raw).catch(() => null)),
  )
  return read.flatMap(email => {
    if (email === null) return []
    const sender = senderOf(email)
    const text = attachedText(email)
    return text === '' ? [] : [{ author: sender === null ? null : sender.name || sender.address, text }]
  })
}

/** The contents of its files, in order. */
export const filesIn = async (raw: Uint8Array): Promise<Uint8Array[]> =>
  (await readMail(raw)).attachments.map(({ content }) => bytesOf(content))

export async function inboundOf(received: Received, self: Self): Promise<Inbound> {
  const { raw, at, note } = received
  const email = await readMail(raw)
  const tokens =
    self.tokens === null
      ? null
      : createTokens(self.tokens.template, self.tokens.secret, self.tokens.connectionId)
  const headersOf: HeadersOf = name =>
    email.headers.filter(({ key }) => key === name).map(({ value }) => value)
  const id = idsOf(email.messageId)[0] ?? `<${sha256(raw)}>`
  const sender = senderOf(email)
  const from = sender?.address ?? ''
  const token = tokens?.read(recipientsOf(email), from, at) ?? null
  const verdict = verdictOf(headersOf('authentication-results'), self.authservId, from)
  const isProven = token?.proves === true || verdict === 'pass'
  const references = [...idsOf(email.references), ...idsOf(email.inReplyTo)]
  const place = threadRef(id, references, token?.conversation ?? null, self.address)
  const isOurs = (address: string): boolean => address === self.address || tokens?.isOurs(address) === true
  const user_id = isProven ? from : `unverified:${from}`
  // Unverified senders cannot add recipients.
  const others = isProven ? othersOf(email, from, isOurs) : []
  const target: EmailTarget = {
    conversation: place.conversation,
    to: sender ?? { name: '', address: '' },
    others,
    subject: (email.subject ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, SUBJECT).toWellFormed(),
    message_id: id,
    references,
    people: [user_id, ...others.map(({ address }) => address)],
    has_token: token !== null,
  }
  const status = sender === null || isReport(headersOf, from) ? bounceOf(raw, self.address) : null
  const ignore = whyNot(sender, verdict, isOurs, isProven) ?? automatic(headersOf, from)
  const text = textOf(email, place.isReply)
  const files = filesOf(email, received)
  const forwards = status === null && ignore === null ? await forwardsIn(email) : []
  return {
    event_key: id.length > ID ? sha256(Buffer.from(id)) : id,
    ...placed(place, target),
    source: {
      platform: 'email',
      chat_id: place.conversation,
      chat_type: others.length === 0 ? 'dm' : 'group',
      user_id,
      user_name: sender === null || sender.name === '' ? null : sender.name.slice(0, 200).toWellFormed(),
      thread_id: null,
      ts: `${Math.floor(at / 1000)}.${sha256(Buffer.from(id)).slice(0, 8)}`,
    },
    text: note === undefined ? text : `${text}\n\n[${note}]`.trim(),
    ...(isProven ? {} : { unproven: true }),
    ...(files.length === 0 ? {} : { files }),
    ...(forwards.length === 0 ? {} : { forwards }),
    ...(status === null ? {} : { status }),
    ...(status === null && ignore !== null ? { ignore } : {}),
  }
}

const placed = ({ conversation, own }: ThreadRef, target: EmailTarget) => ({
  conversation_key: conversation,
  own_key: own,
  target,
})

function whyNot(
  sender: Person | null,
  verdict: string,
  isOurs: (address: string) => boolean,
  isProven: boolean,
): string | null {
  if (sender === null) return 'no single sender'
  if (isOurs(sender.address)) return 'own'
  return verdict === 'fail' && !isProven ? 'forged' : null
}

const filesOf = ({ attachments }: Email, { place }: Received): FileRef[] =>
  attachments.flatMap(({ filename, mimeType, content }, at) => {
    // Email signatures are useless to an agent.
    if (/^application\/(?:pgp|pkcs7|x-pkcs7)-signature$/.test(mimeType)) return []
    const bytes = bytesOf(content)
    return [
      {
        name: filename ?? (mimeType === EMAIL_TYPE ? `email-${at + 1}.eml` : `part-${at + 1}`),
        mime_type: mimeType,
        size: bytes.length,
        ref: place === null ? { content: Buffer.from(bytes).toString('base64') } : { ...place, file: at },
      },
    ]
  })

const bytesOf = (content: ArrayBuffer | Uint8Array | string): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer)

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/**
 * Participants when the conversation started may write to it, and anyone who writes to its signed address.
 * Answers go to those participants, whatever a later email says, and refer to the newest email.
 */
export function join(standing: EmailTarget, inbound: Inbound): Inbound | null {
  const { has_token, message_id, references } = inbound.target as EmailTarget
  if (!has_token && !standing.people.includes(inbound.source.user_id)) return null
  return {
    ...inbound,
    source: { ...inbound.source, chat_type: standing.others.length === 0 ? 'dm' : 'group' },
    target: { ...standing, message_id, references },
  }
}
