/**
 * A mailbox over IMAP: what is new comes by IDLE, and by a look every few minutes where IDLE says nothing.
 * The cursor is the UID of the newest mail that is on disk; only then is it marked as read there.
 */
import type { ImapServer } from '@cairn/protocol'
import { ImapFlow } from 'imapflow'
import type { Consuming, Inbound } from '../adapter.ts'
import { wait } from '../wait.ts'
import { consumeFailed } from './failures.ts'
import { MAIL_BYTES, UNREADABLE } from './limits.ts'

const LOOK_MS = 4 * 60_000
const CONNECT_MS = 15_000
/** When a server has given its mails new numbers: so far back they are read, and known by their ids. */
const AGAIN_MS = 2 * 24 * 60 * 60_000

/** The dates of a mailbox are whole seconds. */
const SECOND_MS = 1000

type Cursor = {
  /** UIDs of another one are of other mails. */
  uidvalidity: string
  uid: number
  /** Epoch milliseconds of the last look, and of the first one: what is older than that is not answered. */
  at: number
  from: number
}
export type Fetched = {
  raw: Uint8Array
  at: number
  place: MailPlace
  /** Not fetched whole: it has so many bytes. */
  tooLarge: number | null
}
export type MailPlace = { uid: number; uidvalidity: string }

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
    maxIdleTime: LOOK_MS,
  })
  // Each call that is under way fails for the same reason.
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
    // What lay in the mailbox before it was connected is not answered.
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
      // A mail that could not be read stays unread, so that a person who looks into the mailbox finds it.
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
      await Promise.race([client.idle(), wait(LOOK_MS, AbortSignal.any([signal, news.signal]))])
      news.end()
      if (!client.usable && !signal.aborted) throw new Error('the connection ended')
    }
  })
  await reading.catch((thrown: unknown) => {
    if (!signal.aborted) throw consumeFailed(thrown)
  })
}

/** Its signal comes when the server says that there is more, or nothing any longer. */
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

/** Null: somebody has removed it. Of one that is too large only the headers. */
async function fetchMail(client: ImapFlow, uid: number, uidvalidity: string): Promise<Fetched | null> {
  const about = await client.fetchOne(String(uid), { size: true, internalDate: true }, { uid: true })
  if (about === false) return null
  const { size = 0, internalDate } = about
  const isWhole = size <= MAIL_BYTES
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

/** One mail, over a connection of its own. */
export const fetchAgain = (
  options: MailboxOptions,
  { uid, uidvalidity }: MailPlace,
  signal: AbortSignal,
): Promise<Uint8Array> =>
  within(options, signal, async client => {
    const { uidValidity } = await client.mailboxOpen(options.mailbox, { readOnly: true })
    const found =
      String(uidValidity) === uidvalidity
        ? await client.fetchOne(String(uid), { source: true }, { uid: true })
        : false
    if (found === false || found.source === undefined) throw new Error('the mail is not there any more')
    return found.source
  })

/** Throws, in words for the operator, where the mailbox cannot be opened. */
export async function checkMailbox(options: MailboxOptions, signal: AbortSignal): Promise<void> {
  try {
    await within(options, signal, client => client.mailboxOpen(options.mailbox, { readOnly: true }))
  } catch (thrown) {
    throw new Error(`imap ${options.host}: ${consumeFailed(thrown).message}`, { cause: thrown })
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
