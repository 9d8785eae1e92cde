/** Email: a mailbox or a webhook in, SMTP out. docs/channels/email.md has the setup. */
import type { ImapServer } from '@cairn/protocol'
import {
  type Adapter,
  type Call,
  type FileRef,
  type Inbound,
  type OutgoingPart,
  SendFailed,
} from '../adapter.ts'
import { createSignatures } from '../standard-webhooks.ts'
import { composeEmail } from './compose.ts'
import { sendFailed } from './failures.ts'
import { LIMITS, POSTED_BYTES } from './limits.ts'
import {
  checkMailbox,
  fetchAgain,
  type Fetched,
  type MailboxOptions,
  type MailboxPosition,
  readMailbox,
} from './mailbox.ts'
import { readFiles, readInbound } from './email-process.ts'
import { join, type EmailTarget, type Self, targetFor } from './parse.ts'
import { isAddress } from './people.ts'
import { createTokens } from './reply-token.ts'
import { openTransport, type Smtp } from './transport.ts'

const HOUR_MS = 60 * 60_000

export type EmailOptions = {
  connectionId: string
  address: string
  /** Display name of the sender. */
  name: string
  /** Null if emails arrive through the webhook. */
  imap: (ImapServer & { password: string }) | null
  webhookSecret: string | null
  smtp: Smtp
  authservId: string | null
  tokens: { address: string; secret: string } | null
  perSecond: number
  perHour: number
  now: () => number
}

export function createEmailAdapter(options: EmailOptions): Adapter {
  const { connectionId, address, name, imap, webhookSecret, authservId, perSecond, perHour, now } = options
  const tokens =
    options.tokens === null ? null : createTokens(options.tokens.address, options.tokens.secret, connectionId)
  const self: Self = {
    address,
    authservId,
    tokens:
      options.tokens === null
        ? null
        : { template: options.tokens.address, secret: options.tokens.secret, connectionId },
  }
  const mailbox: MailboxOptions | null = imap === null ? null : { ...imap, now }
  const transport = openTransport(options.smtp)
  const sender = {
    name,
    address,
    replyTo: ({ conversation, to, others }: EmailTarget): string | null =>
      tokens?.address(conversation, others.length === 0 ? to.address : null, now()) ?? null,
  }
  /** When emails were sent within the last hour. */
  const sentAt: number[] = []
  return {
    platform: 'email',
    // Email addresses are globally unique.
    workspace: '',
    limits: { ...LIMITS, perSecond },
    delivery: 'keyed',
    disclosesInside: true,
    hasNoButtons: true,
    address(to) {
      const target = targetFor(to.trim().toLowerCase(), 'Test message')
      return { conversation_key: target.conversation, target }
    },
    join: (standing, inbound) => join(standing as EmailTarget, inbound),
    webhook: webhookSecret === null ? null : postedMails(webhookSecret, self, now),
    ...(mailbox === null
      ? {}
      : {
          consume: consuming =>
            readMailbox(mailbox, consuming, fetched => parseFetched(fetched, self, consuming.signal)),
        }),
    send,
    async check(signal) {
      if (mailbox !== null) await checkMailbox(mailbox, signal)
      await transport.verify().catch((error: unknown) => {
        throw new Error(`smtp ${options.smtp.host}: ${sendFailed(error).message}`, { cause: error })
      })
    },
    fetchFile: createFetcher(mailbox),
  }

  async function send(
    part: OutgoingPart,
    key: string,
    signal: AbortSignal,
  ): Promise<{ message_id: string | null }> {
    const { to } = part.target as EmailTarget
    if (!isAddress(to.address))
      throw new SendFailed('permanent', 'an email goes to one address, such as ann@example.org')
    const at = now()
    while ((sentAt[0] ?? at) <= at - HOUR_MS) sentAt.shift()
    const [first] = sentAt
    if (first !== undefined && sentAt.length >= perHour)
      throw new SendFailed('rate_limited', `reached the limit of ${perHour} emails per hour (per_hour)`, {
        afterMs: first + HOUR_MS - at,
      })
    sentAt.push(at)
    try {
      const { messageId } = await transport.sendMail({
        ...(await composeEmail(part, key, sender, signal)),
        signal,
      })
      return { message_id: messageId }
    } catch (error) {
      throw sendFailed(error)
    }
  }
}

const parseFetched = (
  { raw, at, place, tooLarge }: Fetched,
  self: Self,
  signal: AbortSignal,
): Promise<Inbound> =>
  readInbound(
    {
      raw,
      at,
      ...(tooLarge === null
        ? {}
        : { note: `the email has ${Math.ceil(tooLarge / 1e6)} MB and was not read, except for its subject` }),
      place,
    },
    self,
    signal,
  )

/** A mail server posts each email unchanged, signed according to Standard Webhooks. */
function postedMails(secret: string, self: Self, now: () => number): NonNullable<Adapter['webhook']> {
  const signatures = createSignatures(secret)
  return {
    methods: ['POST'],
    bodyLimit: POSTED_BYTES,
    verify(call) {
      signatures.verify(call, now())
      return null
    },
    parse: async ({ raw }: Call) => [await readInbound({ raw, at: now(), place: null }, self)],
  }
}

/**
 * Files of an email are fetched one after the other, so the newest email's files are cached until the next.
 */
function createFetcher(mailbox: MailboxOptions | null): NonNullable<Adapter['fetchFile']> {
  let newest: { key: string; files: Uint8Array[] } | null = null
  return async ({ ref }: FileRef, most, signal) => {
    const bytes =
      typeof ref['content'] === 'string'
        ? Buffer.from(ref['content'], 'base64')
        : await fetchFrom(ref, signal)
    if (bytes.length > most) throw new Error(`the file has more than ${most} bytes`)
    return bytes
  }

  async function fetchFrom(ref: FileRef['ref'], signal: AbortSignal): Promise<Uint8Array> {
    if (mailbox === null) throw new Error('the file is missing from its email')
    const place: MailboxPosition = { uid: Number(ref['uid']), uidvalidity: String(ref['uidvalidity']) }
    const key = `${place.uidvalidity}/${place.uid}`
    if (newest?.key !== key)
      newest = { key, files: await readFiles(await fetchAgain(mailbox, place, signal), signal) }
    const file = newest.files[Number(ref['file'])]
    if (file === undefined) throw new Error('the email does not contain this file')
    return file
  }
}
