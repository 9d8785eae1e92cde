/** One page of the embedded search reads a maximum number of texts, without losing results. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@cairn/log'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFinder } from '../src/sqlite/search/finder.ts'
import { openDb } from '../src/sqlite/adapter.ts'
import { newSession, say } from './conformance/fixture.ts'

const TEXTS = 7
const SESSIONS = { 's-1': 'org_1', 's-2': 'org_2', 's-3': 'org_2', 's-4': 'org_1', 's-5': 'org_1' }

const dir = mkdtempSync(join(tmpdir(), 'cairn-search-bounds-'))
let db: ReturnType<typeof openDb>

beforeAll(async () => {
  const store = await openSqliteStore({ dir })
  for (const [id, org_id] of Object.entries(SESSIONS)) {
    await store.sessions.create(newSession(id, { org_id }))
    await store.commit({
      session_id: id,
      events: Array.from({ length: TEXTS }, (_, n) => say(`common ${n}`)),
    })
  }
  await store.search.catchUp()
  await store.close()
  db = openDb(join(dir, 'search.db'))
  db.prepare('ATTACH ? AS log').run(join(dir, 'cairn.db'))
})
afterAll(() => {
  db.close()
  rmSync(dir, { recursive: true, force: true })
})

test.each([1, 3, 5, TEXTS, TEXTS + 1, 20, 1000])(
  'pages of %d texts find each session once, with its first hits, and none of another organisation',
  bound => {
    const find = createFinder(db, bound)
    const found: [string, number[]][] = []
    let pages = 0
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      const query = {
        org_id: 'org_1',
        words: 'common',
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      }
      const page = find(query, { words: ['common'], prefix: null }, 3, 0)
      for (const { session, spans } of page.found) found.push([session.id, spans.map(({ from }) => from)])
      cursor = page.next_cursor
    }
    expect(found).toEqual([
      ['s-5', [1, 2, 3]],
      ['s-4', [1, 2, 3]],
      ['s-1', [1, 2, 3]],
    ])
    // A bound below the texts of a session ends the page there; with a wide one only the limit applies.
    expect(pages).toBe(bound <= TEXTS ? 6 : bound > 4 * TEXTS ? 2 : 3)
  },
)
