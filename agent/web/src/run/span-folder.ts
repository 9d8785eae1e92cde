/** The worker that folds, or the same code in this page where a browser forbids workers. */
import SpanWorker from './span-worker.ts?worker'
import { createSpanTables, type TableReport, type ToTables } from './span-tables.ts'

export type SpanFolder = { send(message: ToTables): void; end(): void }

export function startSpanFolder(onReport: (report: TableReport) => void): SpanFolder {
  let sent: ToTables[] = []
  let inPage: ReturnType<typeof createSpanTables> | null = null
  const foldHere = (message: ToTables): void => {
    inPage ??= createSpanTables()
    inPage.receive(message)
    inPage.report().forEach(onReport)
  }
  let worker: Worker | null = null
  try {
    worker = new SpanWorker()
  } catch {
    // A policy of the browser or of the site forbids workers.
  }
  worker?.addEventListener('message', ({ data }: MessageEvent<TableReport>) => {
    sent = []
    onReport(data)
  })
  worker?.addEventListener('error', () => {
    worker?.terminate()
    worker = null
    sent.forEach(foldHere)
    sent = []
  })
  return {
    send(message) {
      if (worker === null) return foldHere(message)
      // Kept until the worker has answered once, for the case that it never starts.
      if (inPage === null) sent.push(message)
      worker.postMessage(message, [])
    },
    end: () => worker?.terminate(),
  }
}
