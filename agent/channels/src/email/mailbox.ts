/**
 * Reads a mailbox over IMAP: IDLE reports new emails, and a poll every few minutes covers servers whose IDLE
 * does not. The cursor is the UID of the newest stored email; only then is the email marked as read.
 */
import type { ImapServer } from '@cairn/protocol'
import { ImapFlow } from 'imapflow'
import type { Consuming, Inbound } from '../adapter.ts'
import { wait } from '../wait.ts'
import { consumeFailed } from './failures.ts'
import { MAX_EMAIL_BYTES, UNREADABLE } from './limits.ts'

const POLL_MS = 4 * 60_000
const CONNECT_MS = 15_000
/**
 * If the server has renumbered its emails, they are read again from this far back and recognised by their
 * ids.
 */
const AGAIN_MS = 2 * 24 * 60 * 60_000

/** IMAP dates have a resolution of one second. */
const SECOND_MS = 1000

type Cursor = {
  /** UIDs are only valid with the UIDVALIDITY for which they were assigned. */
  uidvalidity: string
  uid: number
  /** Epoch milliseconds of the last poll, and of the first: older emails are not answered. */
  at: number
  from: number
}
export type Fetched = {
  raw: Uint8Array
  at: number
  place: MailboxPosition
  /** The size of an email that was too large to fetch completely. */
  tooLarge: number | null
}
export type MailboxPosition = { uid: number; uidvalidity: string }

export type MailboxOptions = ImapServer & { password: string; now: () => number }

function connectionTo({ host, port, security, user, password }: MailboxOptions): ImapFlow {
  const client = new ImapFlow({
    host,
    port: port ?? (security === 'tls' ? 993 : 143),
    secure: security === 'tls',
    doSTARTTLS: security === 'starttls',
    auth: { user, pass: password },
    logger: false,
    disableAutoIdle: true,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    maxIdleTime: POLL_MS,
  })
  // Every pending call fails with the same reason.
  client.on('error', () => undefined)
  return client
}

/** Runs until the signal; throws ConsumeFailed. */
export async function readMailbox(
  options: MailboxOptions,
  { cursor, signal, sink, live }: Consuming,
  parse: (fetched: Fetched) => Promise<Inbound>,
): Promise<void> {
  const reading = within(options, signal, async client => {
    const { uidValidity, uidNext } = await client.mailboxOpen(options.mailbox)
    const uidvalidity = String(uidValidity)
    const before = cursor === null ? null : (JSON.parse(cursor) as Cursor)
    const from = before?.from ?? options.now()
    const save = (uid: number, events: Inbound[]): Promise<void> =>
      sink(events, JSON.stringify({ uidvalidity, uid, at: options.now(), from } satisfies Cursor))
    // Emails from before the connection was set up are not answered.
    let last = before?.uidvalidity === uidvalidity ? before.uid : before === null ? uidNext - 1 : 0
    const isRenumbered = before !== null && before.uidvalidity !== uidvalidity
    const since = isRenumbered ? new Date(Math.max(before.at - AGAIN_MS, before.from)) : null
    if (before === null) await save(last, [])
    const take = async (uid: number): Promise<void> => {
      const found = await fetchMail(client, uid, uidvalidity)
      const fetched = isRenumbered && (found?.at ?? 0) < from - SECOND_MS ? null : found
      const inbound = fetched === null ? null : await parse(fetched)
      await save(uid, inbound === null ? [] : [inbound])
      last = uid
      // An unreadable email stays unread, so that a person finds it in the mailbox.
      if (inbound !== null && inbound.source.user_id !== UNREADABLE)
        await client.messageFlagsAdd(String(uid), [String.raw`\Seen`], { uid: true })
    }
    await live()
    let isFirst = true
    while (!signal.aborted) {
      const news = nextNews(client)
      const found = await client.search(
        { uid: `${last + 1}:*`, ...(isFirst && since !== null ? { since } : {}) },
        { uid: true },
      )
      isFirst = false
      for (const uid of (found || []).toSorted((a, b) => a - b)) if (uid > last) await take(uid)
      await Promise.race([client.idle(), wait(POLL_MS, AbortSignal.any([signal, news.signal]))])
      news.end()
      if (!client.usable && !signal.aborted) throw new Error('the connection ended')
    }
  })
  await reading.catch((error: unknown) => {
    if (!signal.aborted) throw consumeFailed(error)
  })
}

/** Its signal aborts when the server reports new emails, or the connection closes. */
function nextNews(client: ImapFlow): { signal: AbortSignal; end: () => void } {
  const ending = new AbortController()
  const end = (): void => {
    client.off('exists', end)
    client.off('close', end)
    ending.abort()
  }
  client.on('exists', end)
  client.on('close', end)
  return { signal: ending.signal, end }
}

/** Null if the email was deleted. Of a too large one only the headers are fetched. */
async function fetchMail(client: ImapFlow, uid: number, uidvalidity: string): Promise<Fetched | null> {
  const about = await client.fetchOne(String(uid), { size: true, internalDate: true }, { uid: true })
  if (about === false) return null
  const { size = 0, internalDate } = about
  const isWhole = size <= MAX_EMAIL_BYTES
  const body = await client.fetchOne(String(uid), isWhole ? { source: true } : { headers: true }, {
    uid: true,
  })
  const raw = body === false ? undefined : isWhole ? body.source : body.headers
  if (raw === undefined) return null
  return {
    raw,
    at: new Date(internalDate ?? 0).getTime(),
    place: { uid, uidvalidity },
    tooLarge: isWhole ? null : size,
  }
}

/** Fetches one email over its own connection. */
export const fetchAgain = (
  options: MailboxOptions,
  { uid, uidvalidity }: MailboxPosition,
  signal: AbortSignal,
): Promise<Uint8Array> =>
  within(options, signal, async client => {
    const { uidValidity } = await client.mailboxOpen(options.mailbox, { readOnly: true })
    const found =
      String(uidValidity) === uidvalidity
        ? await client.fetchOne(String(uid), { source: true }, { uid: true })
        : false
    if (found === false || found.source === undefined) throw new Error('the email no longer exists')
    return found.source
  })

/** Throws, with a message for the operator, if the mailbox cannot be opened. */
export async function checkMailbox(options: MailboxOptions, signal: AbortSignal): Promise<void> {
  try {
    await within(options, signal, client => client.mailboxOpen(options.mailbox, { readOnly: true }))
  } catch (error) {
    throw new Error(`imap ${options.host}: ${consumeFailed(error).message}`, { cause: error })
  }
}

async function within<T>(
  options: MailboxOptions,
  signal: AbortSignal,
  work: (client: ImapFlow) => Promise<T>,
): Promise<T> {
  const client = connectionTo(options)
  const close = (): void => client.close()
  signal.addEventListener('abort', close, { once: true })
  try {
    await client.connect()
    return await work(client)
  } finally {
    signal.removeEventListener('abort', close)
    client.close()
  }
}
