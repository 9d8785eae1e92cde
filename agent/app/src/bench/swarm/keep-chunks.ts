/**
 * The minimal relay that stores what it passes on: chunks are coalesced as in the service, and each becomes a
 * row of a SQLite log that is on disk before its reader sees it. One thread, one statement; no session state,
 * no guards, no redaction.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The default of `limits.delta_coalesce_ms`. */
const GATHER_MS = 40
/** Rows of this interval are committed in one transaction. */
const COMMIT_MS = 5

type Row = { session: number; id: number; json: string; done: () => void }

export type KeptAnswer = {
  add(content: string): void
  /** Calls back when everything is on disk. */
  end(done: () => void): void
}

/** `pass` receives each record of a session, as text, once it is on disk. */
export function keepChunksIn(dir: string): (pass: (record: string) => void) => KeptAnswer {
  const db = new DatabaseSync(join(dir, 'relay.db'))
  db.exec(`pragma journal_mode = wal; pragma synchronous = full;
    create table events (session integer, id integer, json text, primary key (session, id)) without rowid`)
  const insert = db.prepare('insert into events values (?, ?, ?)')
  let waiting: Row[] = []

  function commit(): void {
    const rows = waiting
    waiting = []
    db.exec('begin')
    for (const { session, id, json } of rows) insert.run(session, id, json)
    db.exec('commit')
    for (const { done } of rows) done()
  }

  function add(row: Row): void {
    if (waiting.push(row) === 1) setTimeout(commit, COMMIT_MS)
  }

  let sessions = 0
  return pass => {
    const session = ++sessions
    let [id, content] = [0, '']
    let timer: NodeJS.Timeout | null = null
    function flush(): void {
      timer = null
      if (content === '') return
      const json = JSON.stringify({ id: ++id, type: 'llm.delta', data: { content } })
      content = ''
      add({ session, id, json, done: () => pass(json) })
    }
    return {
      add(text) {
        content += text
        if (id === 0) flush()
        else timer ??= setTimeout(flush, GATHER_MS)
      },
      end(done) {
        if (timer !== null) clearTimeout(timer)
        flush()
        add({ session, id: ++id, json: JSON.stringify({ id, type: 'session.complete', data: {} }), done })
      },
    }
  }
}
