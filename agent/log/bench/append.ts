/**
 * What the embedded store does on this machine: durable appends, replay and live delivery, with the disk's
 * own speed beside them.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EventDraft, writer } from '@cairn/protocol'
import { type LogStore, openSqliteStore, tail } from '@cairn/log'
import { closedLoop, printRows, type Row } from './measure.ts'

const write = writer('turn')
export const draftOf = (reasoning: string): EventDraft =>
  write('llm.thinking', { reasoning, turn_id: 'turn_0', iteration_index: 0 })
/** About 600 bytes as a record, the size an event of a session has on average. */
export const draft: EventDraft = draftOf('The build failed because the lock file is out of date. '.repeat(8))

/** How fast the disk itself takes 600 bytes and says so: the ceiling of one commit at a time. */
export async function probeDisk(dir: string): Promise<Row> {
  const file = openSync(join(dir, 'probe'), 'w')
  const bytes = Buffer.alloc(600, 'x')
  const row = await closedLoop('write 600 bytes + fdatasync (this disk)', 1, 1, async () => {
    writeSync(file, bytes)
    fdatasyncSync(file)
  })
  closeSync(file)
  return row
}

export async function makeSessions(store: LogStore, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, at) =>
      store.sessions.create({
        id: `session-${at}`,
        org_id: 'org',
        created_by: 'user',
        created_by_kind: 'user',
        agent: 'assistant',
        channel: 'web',
      }),
    ),
  )
}

async function replay(store: LogStore, sessionId: string, pageSize: number): Promise<Row> {
  let events = 0
  const start = performance.now()
  while (performance.now() - start < 1000) {
    for (let after = 0; ;) {
      const page = await store.events.read(sessionId, after, pageSize)
      events += page.length
      after = page.at(-1)?.id ?? after
      if (page.length < pageSize) break
    }
  }
  return {
    what: `replay, pages of ${pageSize}: events`,
    concurrent: 1,
    per_second: Math.round((events / (performance.now() - start)) * 1000),
    p50_ms: null,
    p99_ms: null,
  }
}

/** `readers` follow one session while 16 callers append to it; counts what the readers were given. */
async function deliver(store: LogStore, readers: number): Promise<Row> {
  const sessionId = 'session-1'
  const after = (await store.sessions.get(sessionId))?.last_event_id ?? 0
  const stop = new AbortController()
  let delivered = 0
  const following = Array.from({ length: readers }, async () => {
    for await (const page of tail(store, sessionId, after, stop.signal)) delivered += page.length
  })
  const start = performance.now()
  await closedLoop('', 16, 1, () => store.commit({ session_id: sessionId, events: [draft] }))
  const elapsed = performance.now() - start
  stop.abort()
  await Promise.all(following)
  return {
    what: 'tail of one live session: deliveries',
    concurrent: readers,
    per_second: Math.round((delivered / elapsed) * 1000),
    p50_ms: null,
    p99_ms: null,
  }
}

/** Runs it all against a fresh store below `parent`, and leaves nothing behind. About fifteen seconds. */
export async function benchAppend(parent: string = tmpdir()): Promise<Row[]> {
  const dir = mkdtempSync(join(parent, 'cairn-bench-'))
  const rows: Row[] = []
  try {
    rows.push(await probeDisk(dir))
    const store = await openSqliteStore({ dir })
    await makeSessions(store, 1000)
    for (const concurrent of [1, 64, 256, 1000]) {
      rows.push(
        await closedLoop('durable commits of one event', concurrent, 1.5, caller =>
          store.commit({ session_id: `session-${caller}`, events: [draft] }),
        ),
      )
    }
    // What a worker's end writes: its own log and that of another session, in one transaction.
    for (const concurrent of [1, 64])
      rows.push(
        await closedLoop('durable commits of two sessions (also)', concurrent, 1.5, caller =>
          store.commit({
            session_id: `session-${caller}`,
            events: [draft],
            also: [{ session_id: `session-${caller + 500}`, events: [draft] }],
          }),
        ),
      )
    const block = Array.from({ length: 16 }, () => draft)
    const blocks = await closedLoop('durable events, 16 a commit', 64, 1.5, caller =>
      store.commit({ session_id: `session-${caller}`, events: block }),
    )
    rows.push({ ...blocks, per_second: blocks.per_second * block.length })
    rows.push(await replay(store, 'session-0', 100), await replay(store, 'session-0', 1000))
    for (const readers of [1, 100, 1000]) rows.push(await deliver(store, readers))
    await store.close()
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  return rows
}

if (import.meta.main) printRows(await benchAppend(process.argv[2]))
