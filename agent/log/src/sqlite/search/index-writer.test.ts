/** Ranges are written to disk in batches, each completely or not at all. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openDb } from '../adapter.ts'
import { openSqliteStore } from '../store.ts'
import { emptyShape } from '../../resources/search/shape.ts'
import type { Stretch } from '../../resources/search/index-log.ts'
import { openSqliteIndex } from './index.ts'

async function setUp(sessions: number) {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-index-'))
  const store = await openSqliteStore({ dir })
  onTestFinished(() => store.close())
  const ids = Array.from({ length: sessions }, (_, at) => `s${at}`)
  for (const id of ids)
    await store.sessions.create({
      id,
      agent: 'a',
      channel: 'api',
      org_id: 'o',
      created_by: 'u',
      created_by_kind: 'user',
    })
  const path = join(dir, 'other.db')
  const index = openSqliteIndex(path, join(dir, 'cairn.db'))
  onTestFinished(() => index.close())
  const other = openDb(path)
  onTestFinished(() => other.close())
  const onDisk = (): unknown => other.prepare('SELECT count(*) AS texts FROM progress').get()?.['texts']
  const stretch = (session_id: string): Stretch => ({
    session_id,
    after: null,
    through: 1,
    texts: [{ event_id: 1, words: ['word'] }],
    usage: [],
    shape: emptyShape,
  })
  return { ids, index, onDisk, stretch }
}

test('ranges are written to disk on commit or after sixteen of them', async () => {
  const { ids, index, onDisk, stretch } = await setUp(20)
  for (const id of ids.slice(0, 15)) expect(index.add(stretch(id))).toBe(true)
  expect(onDisk()).toBe(0)
  expect(index.behind(['s0']), 'whoever reads here sees it').toEqual([])
  index.add(stretch(ids[15] ?? ''))
  expect(onDisk()).toBe(16)
  index.add(stretch(ids[16] ?? ''))
  index.commit()
  index.commit()
  expect(onDisk()).toBe(17)
})

test('a failed batch is discarded completely, and the next one is written', async () => {
  const { ids, index, onDisk, stretch } = await setUp(3)
  const [one = '', two = '', three = ''] = ids
  index.add(stretch(one))
  expect(() =>
    index.add({ ...stretch(two), texts: [{ event_id: 1, words: [null as never] }, null as never] }),
  ).toThrow()
  index.commit()
  expect(onDisk()).toBe(0)
  for (const id of [one, two, three]) expect(index.add(stretch(id))).toBe(true)
  expect(index.add(stretch(one)), 'it was added before').toBe(false)
  index.commit()
  expect(onDisk()).toBe(3)
})
