/**
 * Deletes superseded llm.delta rows on Postgres (see prune.ts of the embedded store): one session per
 * transaction, under its lock.
 */
import type { PrunePosition } from '../engine/writer-messages.ts'
import type { Database, Statement } from './connections.ts'

/** A session that is being written is left for the next round. */
const NEXT: Statement = {
  name: 'prune_next',
  text: `
    SELECT org_key, key, delta_low FROM sessions
    WHERE delta_low > 0 AND (org_key, key) > ($1::integer, $2::bigint)
    ORDER BY org_key, key LIMIT 1 FOR UPDATE SKIP LOCKED`,
}
const COVERED: Statement = {
  name: 'prune_covered',
  text: `
    SELECT max(id) AS id FROM events
    WHERE org_key = $1 AND session_key = $2 AND id > $3 AND type = 'llm.response' AND at < $4`,
}
const REMOVE: Statement = {
  name: 'prune_remove',
  text: `
    WITH gone AS (
      DELETE FROM events
      WHERE org_key = $1 AND session_key = $2 AND id >= $3 AND id < $4 AND type = 'llm.delta' RETURNING 1
    )
    SELECT count(*) AS gone FROM gone`,
}
const SETTLE: Statement = {
  name: 'prune_settle',
  text: `
    UPDATE sessions
    SET pruned = pruned + $3, delta_low = coalesce((SELECT min(id) FROM events
      WHERE org_key = $1 AND session_key = $2 AND id > $4 AND type = 'llm.delta'), 0)
    WHERE org_key = $1 AND key = $2`,
}

export async function pruneDeltas(db: Database, before: number): Promise<number> {
  let total = 0
  for (let after: PrunePosition | null = { org_key: 0, key: 0 }; after !== null;) {
    const from: PrunePosition = after
    const step = await db.transaction('pruneDeltas', async ask => {
      const [session] = (await ask(NEXT, [from.org_key, from.key])) as (PrunePosition & {
        delta_low: number
      })[]
      if (session === undefined) return { deleted: 0, after: null }
      const { org_key, key, delta_low } = session
      const [response] = await ask(COVERED, [org_key, key, delta_low, before])
      const covered = response?.['id'] as number | null
      if (covered === null) return { deleted: 0, after: { org_key, key } }
      const [removed] = await ask(REMOVE, [org_key, key, delta_low, covered])
      const deleted = Number(removed?.['gone'])
      await ask(SETTLE, [org_key, key, deleted, covered])
      return { deleted, after: { org_key, key } }
    })
    total += step.deleted
    after = step.after
  }
  return total
}
