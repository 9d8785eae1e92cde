/**
 * Parses emails, and renders Markdown for them, in separate processes. A sender chooses the lines, parts and
 * nesting of an email, and an email of a few megabytes can keep the parser busy for half a minute. An email
 * that exceeds a limit is `unreadable`: its row says why, and it is not retried.
 */
import { webcrypto } from 'node:crypto'
import { runInProcess } from '@cairn/log/run-in-process'
import type { ThreadLimits } from '@cairn/log/run-in-thread'
import { asError } from '@cairn/protocol'
import { moduleBeside } from '@cairn/tooling/beside'
import type { Inbound } from '../adapter.ts'
import { createSemaphore, type Semaphore } from '../semaphore.ts'
import { htmlOf } from './html.ts'
import { UNREADABLE } from './limits.ts'
import { filesIn, inboundOf, type Received, type Self } from './parse.ts'

export type EmailJob =
  | { do: 'inbound'; received: Received; self: Self }
  | { do: 'files'; raw: Uint8Array }
  | { do: 'html'; markdown: string }
export type EmailJobResult = Inbound | Uint8Array[] | string

/** Below this size parsing is faster than starting a process, whatever the content. */
const SMALL = 2 * 1024
const TIME_LIMIT_MS = 30_000
/** Below this length rendering is faster than starting a process. */
const SMALL_MARKDOWN = 1_000
const HTML_LIMIT_MS = 10_000
/** Processes that parse emails concurrently; other emails wait. Rendering has its own. */
const PROCESSES_MAX = 2

const parsing = createSemaphore(PROCESSES_MAX)
const rendering = createSemaphore(PROCESSES_MAX)
const SCRIPT = moduleBeside(import.meta, './email-worker')

/** The message of an email. Rejects only with the reason of the signal. */
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

/** The contents of an email's files. Rejects if it cannot be parsed. */
export const readFiles = (raw: Uint8Array, signal: AbortSignal): Promise<Uint8Array[]> =>
  raw.length <= SMALL
    ? filesIn(raw)
    : inProcess(parsing, { do: 'files', raw }, { signal, timeLimitMs: TIME_LIMIT_MS })

/**
 * Markdown as HTML; null if it exceeds the limits, and the email then has plain text only. Some Markdown
 * takes quadratic time, or nests deeper than the stack allows.
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

async function inProcess<R extends EmailJobResult>(
  processes: Semaphore,
  job: EmailJob,
  { signal, timeLimitMs }: ThreadLimits,
): Promise<R> {
  const release = await processes.acquire()
  try {
    let result: R | undefined
    await runInProcess<R>(SCRIPT, job, { timeLimitMs, signal }, message => {
      result = message
      return true
    })
    if (result === undefined) throw new Error(`reading took longer than ${timeLimitMs / 1000} s`)
    return result
  } finally {
    release()
  }
}

async function unreadable({ raw, at }: Received, why: string): Promise<Inbound> {
  // Asynchronous: a digest of 36 MiB would block the event loop for a tenth of a second.
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
