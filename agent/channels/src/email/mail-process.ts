/**
 * Emails are parsed, and Markdown is rendered for them, in processes. A sender chooses the lines, parts and
 * nesting of a mail, and a mail of a few megabytes can keep the parser busy for half a minute. A mail that
 * exceeds a limit is `unreadable`: it has a row that says why, and it is not tried again.
 */
import { webcrypto } from 'node:crypto'
import { runInProcess } from '@cairn/log/run-in-process'
import type { ThreadLimits } from '@cairn/log/run-in-thread'
import { asError } from '@cairn/protocol'
import type { Inbound } from '../adapter.ts'
import { createSemaphore, type Semaphore } from '../semaphore.ts'
import { htmlOf } from './html.ts'
import { UNREADABLE } from './limits.ts'
import { filesIn, inboundOf, type Received, type Self } from './parse.ts'

export type MailJob =
  | { do: 'inbound'; received: Received; self: Self }
  | { do: 'files'; raw: Uint8Array }
  | { do: 'html'; markdown: string }
export type MailResult = Inbound | Uint8Array[] | string

/** Bytes below which parsing takes less time than starting a process, whatever they hold. */
const SMALL = 2 * 1024
const TIME_LIMIT_MS = 30_000
/** Characters of Markdown below which rendering takes less time than starting a process. */
const SMALL_MARKDOWN = 1_000
const HTML_LIMIT_MS = 10_000
/** Processes that parse mails at once; other mails wait. Rendering has its own. */
const PROCESSES_MAX = 2

const parsing = createSemaphore(PROCESSES_MAX)
const rendering = createSemaphore(PROCESSES_MAX)
const SCRIPT = new URL('./mail-worker.ts', import.meta.url)

/** The message of a mail. Rejects only with the reason of the signal. */
export async function readInbound(
  received: Received,
  self: Self,
  signal: AbortSignal = new AbortController().signal,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<Inbound> {
  try {
    return received.raw.length <= SMALL
      ? await inboundOf(received, self)
      : await inProcess<Inbound>(parsing, { do: 'inbound', received, self }, { signal, timeLimitMs })
  } catch (error) {
    signal.throwIfAborted()
    return unreadable(received, asError(error).message)
  }
}

/** The contents of the files of a mail. Rejects where it cannot be read. */
export const readFiles = (raw: Uint8Array, signal: AbortSignal): Promise<Uint8Array[]> =>
  raw.length <= SMALL
    ? filesIn(raw)
    : inProcess(parsing, { do: 'files', raw }, { signal, timeLimitMs: TIME_LIMIT_MS })

/**
 * Markdown as HTML; null: it cannot be rendered within the limits, and the mail has its text alone. Some
 * Markdown takes time with the square of its length, or more depth than there is stack.
 */
export async function renderHtml(
  markdown: string,
  signal: AbortSignal,
  timeLimitMs = HTML_LIMIT_MS,
): Promise<string | null> {
  try {
    return markdown.length <= SMALL_MARKDOWN
      ? htmlOf(markdown)
      : await inProcess<string>(rendering, { do: 'html', markdown }, { signal, timeLimitMs })
  } catch {
    signal.throwIfAborted()
    return null
  }
}

async function inProcess<R extends MailResult>(
  processes: Semaphore,
  job: MailJob,
  { signal, timeLimitMs }: ThreadLimits,
): Promise<R> {
  const release = await processes.acquire()
  try {
    let result: R | undefined
    await runInProcess<R>(SCRIPT, job, { timeLimitMs, signal }, message => {
      result = message
      return true
    })
    if (result === undefined) throw new Error(`it took longer than ${timeLimitMs / 1000} s`)
    return result
  } finally {
    release()
  }
}

async function unreadable({ raw, at }: Received, why: string): Promise<Inbound> {
  // The digest of 36 MiB would hold the event loop for a tenth of a second.
  const digest = Buffer.from(await webcrypto.subtle.digest('SHA-256', Buffer.from(raw))).toString('hex')
  return {
    event_key: digest,
    conversation_key: digest,
    target: {},
    source: {
      platform: 'email',
      chat_id: digest,
      chat_type: 'dm',
      user_id: UNREADABLE,
      user_name: null,
      thread_id: null,
      ts: `${Math.floor(at / 1000)}.${digest.slice(0, 8)}`,
    },
    text: '',
    ignore: `unreadable: ${why.slice(0, 200)}`,
  }
}
