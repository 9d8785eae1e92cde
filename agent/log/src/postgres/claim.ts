/**
 * How a claim is made on Postgres: one look at what runs and what waits, the order of fair-claims.ts, and one
 * statement that takes what is still free. It waits for nobody: a row that is being written is found by the
 * next look.
 */
import { chooseFairly, type ClaimRules, isRun, type WaitingTurn } from '../fair-claims.ts'
import { waitingSql } from '../session-rows.ts'
import { type Ask, createLook, HAS_WORK, isFree, readRunning, type Wanted } from './claim-looks.ts'
import type { Database, Rows, Statement } from './connections.ts'
import { at } from './database-now.ts'

/** `held`: some were in the hands of another transaction. */
type Claimed = { rows: Rows; held: boolean; cut: boolean }

/** So often a claim begins anew at once when others were at what it chose. */
const TRIES = 4

/** Those of the names that nobody else holds; they are ours until the transaction ends. */
const TRY_LOCKS: Statement = {
  name: 'try_claim_locks',
  text:
    'SELECT name FROM unnest($1::text[]) AS name WHERE ' +
    "pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || name, 0))",
}
/** The first so many that nobody else takes at this moment. */
export const TAKE: Statement = {
  name: 'take_leases',
  text:
    `WITH clock AS (SELECT ${at('$2')} AS now),\n` +
    '    found AS (SELECT s.key, s.worker_id AS former, s.lease_at AS former_at FROM unnest($4::text[]) ' +
    'WITH ORDINALITY AS wanted (id, nth) JOIN sessions s ON s.id = wanted.id WHERE ' +
    `((${HAS_WORK}) OR s.saga = 2) AND ${isFree('(SELECT now FROM clock)')} ORDER BY wanted.nth LIMIT $5 ` +
    'FOR UPDATE OF s SKIP LOCKED)\n' +
    '    UPDATE sessions s SET worker_id = $1, epoch = s.epoch + 1, lease_until = clock.now + $3, ' +
    'lease_at = clock.now FROM found, clock WHERE s.key = found.key\n' +
    `    RETURNING s.*, found.former, found.former_at, (${waitingSql('s.key', 'clock.now')}) AS waiting`,
}

export function createClaim(db: Database) {
  const look = createLook(db)

  /**
   * Takes the first of them that are still free. Where a limit is in question nobody else may count or take
   * for the same tree or principal meanwhile.
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
    const order = [...toRollBack, ...chosen.map(each => each.id)]
    if (order.length === 0) return { rows: [], held: false, cut }
    const taken = new Map((await takeChosen(wanted, toRollBack, chosen)).map(row => [String(row['id']), row]))
    const rows = order.flatMap(id => {
      const row = taken.get(id)
      return row === undefined ? [] : [row]
    })
    return { rows, held: rows.length < Math.min(order.length, wanted.limit), cut }
  }

  /** `more`: there was work left that another transaction held at that moment. */
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
      // Behind those of a tree that is full now there may be others that had no place in the look.
      const again = found.held ? tries < TRIES : found.cut && found.rows.length > 0
      if (!again || rows.length >= wanted.limit) return { rows, more: found.held }
    }
  }
}

/** What must be counted by one claim at a time. */
const namesOfLimits =
  ({ tree_parallel, principal_turns, principal_runs = null }: ClaimRules) =>
  (turn: WaitingTurn): string[] => [
    ...(tree_parallel === null || turn.root_id === null ? [] : [`tree ${turn.root_id}`]),
    ...(principal_turns === null ? [] : [`principal ${turn.created_by}`]),
    ...(principal_runs === null || !isRun(turn) ? [] : [`runs ${turn.created_by}`]),
  ]

const take = (
  ask: Ask,
  { workerId, at: now, ttlMs, limit }: Wanted,
  ids: readonly string[],
): Promise<Rows> => (ids.length === 0 ? Promise.resolve([]) : ask(TAKE, [workerId, now, ttlMs, ids, limit]))
