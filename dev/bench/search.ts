/**
 * How fast words are found among 10,000 sessions and 1,000,000 events, and what indexing them takes:
 * npm run dev -- bench:search [postgres]. Without the word SQLite in its own folder.
 * SESSIONS and EVENTS (each session's) make it smaller.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writer } from '@cairn/protocol'
import { openPostgresStore, openSqliteStore } from '../../agent/log/src/index.ts'
import { makePostgresPlace } from '../../agent/log/test/postgres-place.ts'

const SESSIONS = Number(process.env['SESSIONS'] ?? 10_000)
const EVENTS = Number(process.env['EVENTS'] ?? 100)
const ASKED = 400
const VOCABULARY = 20_000

const dir = mkdtempSync(join(tmpdir(), 'cairn-search-'))
const place = process.argv[2] === 'postgres' ? await makePostgresPlace() : null
const store = place === null ? await openSqliteStore({ dir }) : await openPostgresStore({ url: place.place })
const messages = writer('messages')
const tools = writer('tools')

/** Few words are everywhere and most are rare, as in any language. */
let seed = 1
const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
const word = (): string => `w${Math.floor(Math.exp(random() * Math.log(VOCABULARY))).toString(36)}`
const text = (words: number): string => Array.from({ length: words }, word).join(' ')

async function fill(): Promise<void> {
  for (let from = 0; from < SESSIONS; from += 100)
    await Promise.all(
      Array.from({ length: Math.min(100, SESSIONS - from) }, async (_, n) => {
        const session_id = `s-${from + n}`
        await store.sessions.create({
          id: session_id,
          // One session in ten is of another organisation.
          org_id: n % 10 === 0 ? 'org_2' : 'org_1',
          created_by: `user_${n % 7}`,
          created_by_kind: 'user',
          agent: n % 3 === 0 ? 'clerk' : 'assistant',
          channel: 'web',
          title: text(5),
        })
        const events = Array.from({ length: EVENTS }, (_, at) =>
          at % 3 === 0
            ? messages('user.message', { content: text(20) })
            : at % 3 === 1
              ? tools('tool.call', {
                  tool_call_id: `c${at}`,
                  name: 'terminal',
                  arguments: { command: text(8) },
                })
              : tools('tool.result', {
                  tool_call_id: `c${at - 1}`,
                  name: 'terminal',
                  content: text(40),
                  elapsed_ms: 5,
                }),
        )
        await store.commit({ session_id, events })
      }),
    )
}

const QUERIES = {
  'a word that is everywhere': () => ['w1'],
  'a word of the middle': () => [`w${(200 + Math.floor(random() * 200)).toString(36)}`],
  'a rare word': () => [`w${(10_000 + Math.floor(random() * 9_000)).toString(36)}`],
  'two words': () => [word(), word()],
  'three words and the beginning of one': () => [word(), word(), word().slice(0, 3)],
  'no such word': () => ['nowhere'],
} as const

async function measure(): Promise<void> {
  const all: number[] = []
  for (const [name, make] of Object.entries(QUERIES)) {
    const times: number[] = []
    let found = 0
    for (let n = 0; n < ASKED; n++) {
      const words = make().join(' ')
      const begun = performance.now()
      const page = await store.search.find({ org_id: 'org_1', words, limit: 20, parent_id: null })
      times.push(performance.now() - begun)
      found += page.found.length
      if (page.found.some(({ session }) => session.org_id !== 'org_1')) throw new Error('a foreign session')
    }
    all.push(...times)
    console.log(`${name}: ${line(times)}, ${(found / ASKED).toFixed(1)} sessions a page`)
  }
  console.log(`all: ${line(all)}`)
}

function line(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(0.9999)} ms`
}

const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0)
try {
  let begun = performance.now()
  await fill()
  console.log(`${SESSIONS} sessions of ${EVENTS} events written in ${seconds(begun)} s`)
  begun = performance.now()
  await store.search.catchUp()
  console.log(`indexed in ${seconds(begun)} s`)
  await measure()
} finally {
  await store.close()
  await place?.remove()
  rmSync(dir, { recursive: true, force: true })
}
