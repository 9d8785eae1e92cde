/** Writes the index of the embedded store: finds the logs that are behind, and adds one range at a time. */
import { keyOf } from '../../engine/directory.ts'
import type { Db } from '../adapter.ts'
import { selectBehind } from '../../resources/search/behind-sql.ts'
import type { Behind, Stretch } from '../../resources/search/index-log.ts'
import type { ShapeState } from '../../resources/search/shape.ts'

/** Maximum cached words of the vocabulary. */
const KNOWN_WORDS = 50_000
/** Ranges per transaction, because FTS5 writes a segment for each transaction. */
const BATCH = 16

export function createIndexWriter(db: Db) {
  const posOf = db.prepare(`SELECT pos FROM sessions WHERE (org_key, key) = ${keyOf('?')}`)
  const addText = db.prepare('INSERT INTO texts (rowid, words) VALUES ((? << 32) | ?, ?)')
  const addWord = db.prepare('INSERT OR IGNORE INTO vocabulary (word) VALUES (?)')
  const addUsage = db.prepare(`
    INSERT INTO usage (day, org_id, created_by, agent, model, calls, input_tokens, output_tokens, cost_usd,
      unpriced_calls)
    SELECT ?, org_id, created_by, agent, ?, ?, ?, ?, ?, ?
    FROM sessions
    WHERE pos = ?
    ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
      input_tokens = input_tokens + excluded.input_tokens,
      output_tokens = output_tokens + excluded.output_tokens, cost_usd = cost_usd + excluded.cost_usd,
      unpriced_calls = unpriced_calls + excluded.unpriced_calls`)
  const begin = db.prepare(`
    INSERT INTO progress (session_pos, through, shape) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`)
  const move = db.prepare(`
    UPDATE progress SET through = ?, shape = ? WHERE session_pos = ? AND through = ?`)
  const behind = selectBehind('progress', 'p.session_pos = s.pos')
  const behindAll = db.prepare(`${behind} ORDER BY s.pos`)
  const behindOf = db.prepare(`${behind} AND (s.org_key, s.key) IN (
      SELECT d.org_key, d.key FROM json_each(?) i JOIN directory d ON d.kind = 'session' AND d.id = i.value)
    ORDER BY s.pos`)
  const known = new Set<string>()

  function keepWords(words: readonly string[]): void {
    for (const word of words) {
      if (known.has(word)) continue
      if (known.size >= KNOWN_WORDS) known.clear()
      known.add(word)
      addWord.run(word)
    }
  }

  /** Ranges that were added and not committed yet. */
  let open = 0

  function commit(): void {
    if (open > 0) db.exec('COMMIT')
    open = 0
  }

  function insert({ session_id, after, through, texts, usage, shape }: Stretch): boolean {
    const pos = Number(posOf.get(session_id)?.['pos'])
    const state = JSON.stringify(shape)
    const { changes } = after === null ? begin.run(pos, through, state) : move.run(through, state, pos, after)
    if (Number(changes) !== 1) return false
    for (const { event_id, words } of texts) {
      addText.run(pos, event_id, words.join(' '))
      keepWords(words)
    }
    for (const { day, model, calls, input_tokens, output_tokens, cost_usd, unpriced_calls } of usage)
      addUsage.run(day, model, calls, input_tokens, output_tokens, cost_usd, unpriced_calls, pos)
    return true
  }

  return {
    behind: (ids: readonly string[] | null): Behind[] =>
      (ids === null ? behindAll.all() : behindOf.all(JSON.stringify(ids))) as Behind[],

    /** Visible on this connection; durable after `commit`, or when a batch is full. */
    add(stretch: Stretch): boolean {
      if (open === 0) db.exec('BEGIN')
      open += 1
      try {
        const isAdded = insert(stretch)
        if (open === BATCH) commit()
        return isAdded
      } catch (error) {
        open = 0
        known.clear()
        db.exec('ROLLBACK')
        throw error
      }
    },
    commit,
  }
}

/** Reads the shapes of sessions by their ids. */
export function createShapeReader(db: Db): (ids: readonly string[]) => Map<string, ShapeState> {
  const shapes = db.prepare(`
    SELECT i.value AS id, p.shape
    FROM json_each(?) i
    JOIN directory d ON d.kind = 'session' AND d.id = i.value
    JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key
    JOIN progress p ON p.session_pos = s.pos`)
  return ids =>
    new Map(
      shapes
        .all(JSON.stringify(ids))
        .map(({ id, shape }) => [String(id), JSON.parse(String(shape)) as ShapeState]),
    )
}
