/** Folds the logs of a run apart from the page, so that a long log never blocks a frame. */
import { buffersOf, createSpanTables, type ToTables } from './span-tables.ts'

/** Batches that arrive together are reported together. */
const REPORT_AFTER_MS = 30

const tables = createSpanTables()
let isScheduled = false

addEventListener('message', ({ data }: MessageEvent<ToTables>) => {
  tables.receive(data)
  if (isScheduled) return
  isScheduled = true
  setTimeout(() => {
    isScheduled = false
    for (const report of tables.report()) postMessage(report, { transfer: buffersOf(report) })
  }, REPORT_AFTER_MS)
})
