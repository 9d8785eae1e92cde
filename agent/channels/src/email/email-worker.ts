/** The thread that parses one email, or renders the Markdown of one. */
import { parentPort, workerData } from 'node:worker_threads'
import type { EmailJob, EmailJobResult } from './email-process.ts'
import { htmlOf } from './html.ts'
import { filesIn, inboundOf } from './parse.ts'

const job = workerData as EmailJob
const run = (): EmailJobResult | Promise<EmailJobResult> => {
  switch (job.do) {
    case 'inbound':
      return inboundOf(job.received, job.self)
    case 'files':
      return filesIn(job.raw)
    case 'html':
      return htmlOf(job.markdown)
  }
}
const result = await run()
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage(result)
