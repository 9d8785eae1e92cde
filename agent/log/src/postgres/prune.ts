/**
 * Deletes superseded llm.delta rows on Postgres (see prune.ts of the embedded store): one session per
 * transaction, under its lock.
 */
import type { Database, Statement } from './connections.ts'

/** A session that is being written is left for the next round. */
const NEXT: Statement = {
  name: 'prune_next',
  text: `
    SELECT key, delta_low
    FROM sessions
    WHERE delta_low > 0 AND key > $1
    ORDER BY key
    LIMIT 1
    FOR UPDATE SKIP LOCKED`,
}
const COVERED: Statement = {
  name: 'prune_covered',
  text: `
    SELECT max(id) AS id
    FROM events
    WHERE session_key = $1 AND id > $2 AND type = 'llm.response' AND at < $3`,
}
const REMOVE: Statement = {
  name: 'prune_remove',
  text: `
    WITH gone AS (DELETE FROM events WHERE session_key = $1 AND id >= $2 AND id < $3 AND type = 'llm.delta' RETURNING 1)
    SELECT count(*) AS gone
    FROM gone`,
}
const SETTLE: Statement = {
  name: 'prune_settle',
  text: `
    UPDATE sessions
    SET pruned = pruned + $2,
      delta_low = coalesce((SELECT min(id) FROM events WHERE session_key = $1 AND id > $3 AND type = 'llm.delta'),
      0)
    WHERE key = $1`,
}

export async function pruneDeltas(db: Database, before: number): Promise<number> {
  let total = 0
  for (let key: number | null = 0; key !== null;) {
    const after: number = key
    const step = await db.transaction('pruneDeltas', async ask => {
      const [session] = await ask(NEXT, [after])
      if (session === undefined) return { deleted: 0, key: null }
      const found = Number(session['key'])
      const [response] = await ask(COVERED, [found, Number(session['delta_low']), before])
      const covered = response?.['id'] as number | null
      if (covered === null) return { deleted: 0, key: found }
      const [removed] = await ask(REMOVE, [found, Number(session['delta_low']), covered])
      const deleted = Number(removed?.['gone'])
      await ask(SETTLE, [found, deleted, covered])
      return { deleted, key: found }
    })
    total += step.deleted
    key = step.key
  }
  return total
}
