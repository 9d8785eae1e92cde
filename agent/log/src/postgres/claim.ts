/**
 * Claims sessions on Postgres: one query for running and queued sessions, the order of fair-claims.ts, and
 * one statement that takes those that are still free. It waits for no lock: a row that is being written is
 * found by the next claim.
 */
import { chooseFairly, type ClaimRules, isRun, type WaitingTurn } from '../engine/fair-claims.ts'
import { waitingSql } from '../engine/session-rows.ts'
import type { Ask } from '../engine/resource.ts'
import { createClaimQuery, HAS_WORK, isFree, readRunning, type Wanted } from './claim-queries.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { at } from './database-now.ts'

/** `held`: some were locked by another transaction. */
type Claimed = { rows: Rows; held: boolean; cut: boolean }

/** Immediate retries if other transactions had locked chosen sessions. */
const TRIES = 4

/** The names that no other transaction holds; this one holds them until it ends. */
const TRY_LOCKS: Statement = {
  name: 'try_claim_locks',
  text: `
    SELECT name
    FROM unnest($1::text[]) AS name
    WHERE pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0))`,
}
/** The first ones that are not locked by another transaction, up to the limit. */
export const TAKE: Statement = {
  name: 'take_leases',
  text: `
    WITH clock AS (SELECT ${at('$2')} AS now),
    found AS (
      SELECT s.org_key, s.key, s.worker_id AS former, s.lease_at AS former_at
      FROM unnest($4::text[]) WITH ORDINALITY AS wanted (id, nth)
      JOIN directory d ON d.kind = 'session' AND d.id = wanted.id
      JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key
      WHERE ((${HAS_WORK}) OR s.saga = 2) AND ${isFree('(SELECT now FROM clock)')}
      ORDER BY wanted.nth LIMIT $5
      FOR UPDATE OF s SKIP LOCKED
    )
    UPDATE sessions s
    SET worker_id = $1, epoch = s.epoch + 1, lease_until = clock.now + $3, lease_at = clock.now
    FROM found, clock WHERE s.org_key = found.org_key AND s.key = found.key
    RETURNING s.*, found.former, found.former_at, (${waitingSql('s.org_key', 's.key', 'clock.now')}) AS waiting`,
}

export function createClaim(db: Database) {
  const look = createClaimQuery(db)

  /**
   * Takes the first that are still free. If a limit applies, advisory locks prevent other claims from
   * counting or taking for the same tree or principal at the same time.
   */
  async function takeChosen(
    wanted: Wanted,
    toRollBack: readonly string[],
    chosen: readonly WaitingTurn[],
  ): Promise<Rows> {
    const ids = (turns: readonly WaitingTurn[]): string[] => [...toRollBack, ...turns.map(each => each.id)]
    const first = chosen.slice(0, wanted.limit - toRollBack.length)
    const names = namesOfLimits(wanted.rules)
    const wants = [...new Set(first.flatMap(names))]
    if (wants.length === 0) return take(db.query, wanted, ids(chosen))
    return db.transaction('claim', async ask => {
      const held = new Set((await ask(TRY_LOCKS, [wants])).map(row => row['name']))
      const running = await readRunning(ask, wanted.at)
      const ours = first.filter(turn => names(turn).every(name => held.has(name)))
      return take(ask, wanted, ids(chooseFairly(ours, running, first.length, wanted.rules)))
    })
  }

  async function claimOnce(wanted: Wanted): Promise<Claimed> {
    const { toRollBack, chosen, cut } = await look(wanted)
    // A session with a saga to roll back may have work as well: one lease covers both.
    const order = [...new Set([...toRollBack, ...chosen.map(each => each.id)])]
    if (order.length === 0) return { rows: [], held: false, cut }
    const taken = new Map((await takeChosen(wanted, toRollBack, chosen)).map(row => [String(row['id']), row]))
    const rows = order.flatMap(id => {
      const row = taken.get(id)
      return row === undefined ? [] : [row]
    })
    return { rows, held: rows.length < Math.min(order.length, wanted.limit), cut }
  }

  /** `more`: another transaction held further work at that moment. */
  return async (wanted: Wanted): Promise<{ rows: Rows; more: boolean }> => {
    const rows: Rows = []
    const { children } = wanted.rules
    for (let tries = 1; ; tries++) {
      const taken = rows.filter(row => row['parent_id'] !== null).length
      const found = await claimOnce({
        ...wanted,
        limit: wanted.limit - rows.length,
        rules: { ...wanted.rules, children: children === null ? null : Math.max(0, children - taken) },
      })
      rows.push(...found.rows)
      // The query may have been filled by sessions of a tree that is full now, with others behind them.
      const again = found.held ? tries < TRIES : found.cut && found.rows.length > 0
      if (!again || rows.length >= wanted.limit) return { rows, more: found.held }
    }
  }
}

/** Names of the counters that only one claim at a time may use. */
const namesOfLimits =
  ({ tree_parallel, principal_turns, principal_runs = null }: ClaimRules) =>
  (turn: WaitingTurn): string[] => [
    ...(tree_parallel === null || turn.root_id === null ? [] : [`tree ${turn.root_id}`]),
    ...(principal_turns === null ? [] : [`principal ${turn.created_by}`]),
    ...(principal_runs === null || !isRun(turn) ? [] : [`runs ${turn.created_by}`]),
  ]

const take = (
  ask: Ask,
  { runnerId, at: now, ttlMs, limit }: Wanted,
  ids: readonly string[],
): Promise<Rows> => (ids.length === 0 ? Promise.resolve([]) : ask(TAKE, [runnerId, now, ttlMs, ids, limit]))
