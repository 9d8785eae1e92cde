/**
 * Converts a page to text, outside the event loop if it is large: five megabytes of links take more than a
 * second.
 */
import { runInProcess } from '@cairn/log/run-in-process'
import { moduleBeside } from '@cairn/tooling/beside'

export type HtmlJob = { html: string; base: string }
export type ReadablePage = { title: string; text: string }

/**
 * Maximum length in characters that is converted on the event loop. Even a hostile page of this length takes
 * less than a fifth of a second.
 */
export const SMALL_PAGE = 16 * 1024
const TIME_LIMIT_MS = 10_000

export async function readablePage(
  job: HtmlJob,
  signal: AbortSignal,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<ReadablePage> {
  if (job.html.length <= SMALL_PAGE) {
    const { htmlToText } = await import('./html-text.ts')
    return htmlToText(job.html, job.base)
  }
  let page: ReadablePage | undefined
  const script = moduleBeside(import.meta, './html-worker')
  await runInProcess<ReadablePage>(script, job, { timeLimitMs, signal }, made => {
    page = made
    return true
  })
  if (page === undefined)
    throw new Error(`making the page readable took longer than ${timeLimitMs / 1000} s: fetch a smaller one`)
  return page
}
