import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createBatchWriter } from './batch-writer.ts'
import { migrate, readMigrations } from './migrate.ts'
import { createReader } from './reader.ts'
import { type Db, openDb } from './adapter.ts'
import { configureWriter } from './writer-connection.ts'
import type { EncodedEvent } from '../engine/writer-messages.ts'

const events = (count: number): EncodedEvent[] =>
  Array.from({ length: count }, () => ['llm.thinking', '{}', null])

test('events that move to the table of positions during a read are read once', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-reader-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'x.db')
  const writing = openDb(path)
  configureWriter(writing)
  migrate(writing, readMigrations(), 0)
  const write = createBatchWriter(writing)
  const session = {
    id: 's',
    org_id: 'o',
    created_by: 'u',
    created_by_kind: 'user',
    agent: 'a',
    channel: 'web',
  } as const
  write([
    { do: 'create', at: 1, session, config: '{}' },
    { do: 'commit', at: 1, session_id: 's', events: events(100) },
  ])
  write([{ do: 'commit', at: 1, session_id: 's', events: events(10) }])

  const reading = openDb(path, { readOnly: true })
  let between: (() => void) | null = () =>
    write([{ do: 'commit', at: 1, session_id: 's', events: events(100) }])
  // A read queries the row of the session first.
  const interrupted = {
    prepare(sql: string) {
      const statement = reading.prepare(sql)
      if (!sql.includes('recent FROM sessions')) return statement
      return {
        get: (id: string) => {
          const row = statement.get(id)
          between?.()
          between = null
          return row
        },
      }
    },
  } as unknown as Db
  const page = createReader(interrupted).read('s', 95, 1000)
  expect(between).toBeNull()
  expect(page.map(event => event.id)).toEqual(Array.from({ length: page.length }, (_, at) => 96 + at))
  expect(page.length).toBeGreaterThanOrEqual(15)
  reading.close()
  writing.close()
})
