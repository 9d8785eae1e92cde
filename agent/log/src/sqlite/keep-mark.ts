/** Maintains the mark of an open store: written after each batch that added records. */
import type { Transactional } from './batch-writer.ts'
import { prepareCount, storeId } from './losses.ts'
import type { Db } from './adapter.ts'
import { openMark } from './store-mark.ts'
import type { Answer, CommitAnswer, WriterLine, WriterStart } from '../engine/writer-messages.ts'

export type MarkKeeper = {
  /** Call when the batch is on disk, with its answers. */
  note(batch: readonly Transactional[], answers: readonly Answer[]): void
  close(): void
}

export function keepMark(
  db: Db,
  { dir, now }: WriterStart,
  tell: (level: WriterLine['level'], message: string) => void,
): MarkKeeper {
  const mark = openMark(dir, error =>
    tell(
      'warn',
      `the mark of the store cannot be written, so a loss of records would go unnoticed: ${error.message}`,
    ),
  )
  const store = storeId(db)
  let records = prepareCount(db)()
  const newest = db.prepare('SELECT at FROM events ORDER BY pos DESC LIMIT 1').get()
  mark.note({ store, records, at: Number(newest?.['at'] ?? now) })

  return {
    note(batch, answers) {
      let added = 0
      let at = 0
      for (const [nth, request] of batch.entries()) {
        const [how, value] = answers[nth] as Answer
        if (request.do !== 'commit' || how !== 'done') continue
        const { reopened, also = [] } = value as CommitAnswer
        added += request.events.length + (reopened ? 1 : 0)
        for (const [part, { events }] of (request.also ?? []).entries())
          added += events.length + (also[part]?.reopened === true ? 1 : 0)
        at = request.at
      }
      if (added === 0) return
      records += added
      mark.note({ store, records, at })
    },
    close: mark.close,
  }
}
