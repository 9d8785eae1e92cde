/**
 * Converts a page to text, outside the event loop if it is large: five megabytes of links take more than a
 * second.
 */
import { runInProcess } from '@cairn/log/run-in-process'
import { htmlToText } from './html-text.ts'

export type HtmlJob = { html: string; base: string }
export type ReadablePage = { title: string; text: string }

/** Length in characters below which starting a process takes longer than the conversion. */
const SMALL = 64 * 1024
const TIME_LIMIT_MS = 10_000

export async function readablePage(
  job: HtmlJob,
  signal: AbortSignal,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<ReadablePage> {
  if (job.html.length < SMALL) return htmlToText(job.html, job.base)
  let page: ReadablePage | undefined
  const script = new URL('./html-worker.ts', import.meta.url)
  await runInProcess<ReadablePage>(script, job, { timeLimitMs, signal }, made => {
    page = made
    return true
  })
  if (page === undefined)
    throw new Error(`making the page readable took longer than ${timeLimitMs / 1000} s: fetch a smaller one`)
  return page
}
