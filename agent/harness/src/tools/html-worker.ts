/** The thread that converts a large page. */
import { parentPort, workerData } from 'node:worker_threads'
import { htmlToText } from './html-text.ts'
import type { HtmlJob, ReadablePage } from './readable-page.ts'

const { html, base } = workerData as HtmlJob
const page: ReadablePage = htmlToText(html, base)
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(page)
