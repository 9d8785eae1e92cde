/**
 * The search on Postgres. One row holds the words of a range of events: an index of single events would be
 * thirty times as large, and a frequent word would be read as often. The matching event of a range is found
 * by reading its events. Each process indexes its own writes, and periodically looks for logs that other
 * processes left unindexed; the cursor in a session's row resolves conflicts.
 */
import type { EventStore, SessionStore } from '../store.ts'
import { keyOf, orgNamed } from '../engine/directory.ts'
import { selectBehind } from '../resources/search/behind-sql.ts'
import { followLogs } from '../resources/search/follow.ts'
import { findHits, type Span } from '../resources/search/hits.ts'
import {
  type Behind,
  countBehind,
  indexLogs,
  type IndexTarget,
  type Stretch,
} from '../resources/search/index-log.ts'
import type { SearchQuery, SearchStore, UsageQuery, UsageRow } from '../resources/search/row.ts'
import type { ShapeState } from '../resources/search/shape.ts'
import { parseWanted, type Wanted } from '../resources/search/words.ts'
import { sortedPage } from '../engine/listing.ts'
import { afterCursor, orderBy, parsePageCursor, sessionConditions } from '../engine/session-query.ts'
import type { StoredSession } from '../engine/session-rows.ts'
import type { Database, Report, Rows, Statement, Value } from './connections.ts'
import { createListings, numberedValues } from '../engine/numbered-values.ts'
import { SELECT_SESSION, toStored } from './session-sql.ts'

/** Texts per row. */
const BLOCK = 32

const BEHIND_LOGS = selectBehind('search_progress', 'p.org_key = s.org_key AND p.session_key = s.key')
const BEHIND: Statement = {
  name: 'search_behind',
  text: `${BEHIND_LOGS} ORDER BY s.org_key, s.key`,
}
const BEHIND_OF: Statement = {
  name: 'search_behind_of',
  text: `
    ${BEHIND_LOGS} AND (s.org_key, s.key) IN (
      SELECT d.org_key, d.key FROM directory d WHERE d.kind = 'session' AND d.id = ANY($1::text[]))
    ORDER BY s.org_key, s.key`,
}
const BEGIN: Statement = {
  name: 'search_begin',
  text: `
    INSERT INTO search_progress (org_key, session_key, through, shape)
    SELECT org_key, key, $2, $3 FROM directory WHERE kind = 'session' AND id = $1
    ON CONFLICT DO NOTHING
    RETURNING org_key, session_key`,
}
const MOVE: Statement = {
  name: 'search_move',
  text: `
    UPDATE search_progress SET through = $2, shape = $4
    WHERE (org_key, session_key) = ${keyOf('$1')} AND through = $3
    RETURNING org_key, session_key`,
}
const SHAPES: Statement = {
  name: 'search_shapes',
  text: `
    SELECT d.id, p.shape
    FROM directory d JOIN search_progress p ON p.org_key = d.org_key AND p.session_key = d.key
    WHERE d.kind = 'session' AND d.id = ANY($1::text[]) AND p.shape IS NOT NULL`,
}
const EXTEND: Statement = {
  name: 'search_extend',
  text: `
    UPDATE search_blocks
    SET words = words || array_to_tsvector($3::text[]), last_id = $4, texts = texts + $5
    WHERE org_key = $1 AND session_key = $2 AND texts < ${BLOCK}
      AND first_id = (SELECT max(first_id) FROM search_blocks WHERE org_key = $1 AND session_key = $2)
    RETURNING 1`,
}
const ADD: Statement = {
  name: 'search_add',
  text: `
    INSERT INTO search_blocks (org_key, session_key, first_id, last_id, texts, words)
    VALUES ($1, $2, $6, $4, $5, array_to_tsvector($3::text[]))`,
}
const ADD_USAGE: Statement = {
  name: 'search_usage',
  text: `
    INSERT INTO search_usage AS u (org_key, day, created_by, agent, model, calls, input_tokens, output_tokens,
      cost_usd, unpriced_calls)
    SELECT org_key, $3, created_by, agent, $4, $5, $6, $7, $8, $9 FROM sessions
    WHERE org_key = $1 AND key = $2
    ON CONFLICT (org_key, day, created_by, agent, model) DO UPDATE
    SET calls = u.calls + excluded.calls, input_tokens = u.input_tokens + excluded.input_tokens,
      output_tokens = u.output_tokens + excluded.output_tokens, cost_usd = u.cost_usd + excluded.cost_usd,
      unpriced_calls = u.unpriced_calls + excluded.unpriced_calls`,
}
const SPANS: Statement = {
  name: 'search_spans',
  text: `
    SELECT session_key, first_id, last_id FROM search_blocks
    WHERE org_key = ${orgNamed('$3')} AND session_key = ANY($1::bigint[]) AND words @@ $2::tsquery
    ORDER BY session_key, first_id`,
}
const usageBy = (column: string): Statement => ({
  name: `usage_by_${column}`,
  text: `
    SELECT day, ${column} AS name, sum(calls)::bigint AS calls, sum(input_tokens)::bigint AS input_tokens,
      sum(output_tokens)::bigint AS output_tokens, sum(cost_usd) AS cost_usd,
      sum(unpriced_calls)::bigint AS unpriced_calls
    FROM search_usage
    WHERE org_key = ${orgNamed('$1')} AND day >= $2 AND day < $3
      AND ($4::text IS NULL OR created_by = $4)
    GROUP BY day, ${column}
    ORDER BY day, ${column} COLLATE "C"`,
})
const USAGE = { agent: usageBy('agent'), user: usageBy('created_by'), model: usageBy('model') }

/** Words consist of letters and digits, so quoting suffices. */
const queryOf = ({ words, prefix }: Wanted): string =>
  [...words.map(word => `'${word}'`), ...(prefix === null ? [] : [`'${prefix}':*`])].join(' & ')

const addStretch = (
  db: Database,
  { session_id, after, through, texts, usage, shape }: Stretch,
): Promise<boolean> =>
  db.transaction('indexing', async ask => {
    const state = JSON.stringify(shape)
    const [moved] =
      after === null
        ? await ask(BEGIN, [session_id, through, state])
        : await ask(MOVE, [session_id, through, after, state])
    if (moved === undefined) return false
    const [org, key] = [Number(moved['org_key']), Number(moved['session_key'])]
    for (let from = 0; from < texts.length; from += BLOCK) {
      const block = texts.slice(from, from + BLOCK)
      const words = [...new Set(block.flatMap(text => text.words))]
      const values: Value[] = [org, key, words, block.at(-1)?.event_id ?? 0, block.length]
      const extended = from === 0 ? await ask(EXTEND, values) : []
      if (extended.length === 0) await ask(ADD, [...values, block[0]?.event_id ?? 0])
    }
    for (const { day, model, calls, input_tokens, output_tokens, cost_usd, unpriced_calls } of usage)
      await ask(ADD_USAGE, [
        org,
        key,
        day,
        model,
        calls,
        input_tokens,
        output_tokens,
        cost_usd,
        unpriced_calls,
      ])
    return true
  })

type AskRepeatable = (statement: Statement, values: readonly Value[]) => Promise<Rows>

/** Reads the shapes of sessions by their ids. */
const shapeReader =
  (ask: AskRepeatable) =>
  async (ids: readonly string[]): Promise<Map<string, ShapeState>> =>
    new Map(
      (await ask(SHAPES, [[...ids]])).map(({ id, shape }) => [
        String(id),
        JSON.parse(String(shape)) as ShapeState,
      ]),
    )

type Options = {
  db: Database
  logs: { read: EventStore['read']; getSession: SessionStore['get'] }
  /** See Watchers.watchIndexed. */
  watch: SessionStore['watch']
  now: () => number
  report: Report
}
export type PostgresSearch = SearchStore & { close(): Promise<void> }

export function createSearch({ db, logs, watch, now, report }: Options): PostgresSearch {
  let stopFollowing = (): Promise<void> => Promise.resolve()
  const listing = createListings('search')
  const ask = (statement: Statement, values: readonly Value[]): Promise<Rows> =>
    db.query(statement, values, { repeatable: true })
  const shapes = shapeReader(ask)
  const target: IndexTarget = { add: stretch => addStretch(db, stretch), shapes }
  const askBehind = async (): Promise<Behind[]> => (await ask(BEHIND, [])) as Behind[]

  async function index(ids: readonly string[] | null): Promise<void> {
    const behind = ids === null ? await askBehind() : await ask(BEHIND_OF, [[...ids]])
    await indexLogs(logs, target, behind as Behind[])
  }

  async function findSessions(query: SearchQuery, words: string): Promise<StoredSession[]> {
    const { sort = 'created', cursor, limit } = query
    const values: Value[] = [now(), limit + 1, words, query.org_id]
    const binder = numberedValues(values)
    const where = [
      ...sessionConditions(query, binder),
      ...afterCursor(parsePageCursor(cursor, sort), sort, binder),
      's.key IN (SELECT session_key FROM found)',
    ].join(' AND ')
    const rows = await ask(
      listing(`
        WITH found (session_key) AS MATERIALIZED (SELECT search_sessions(${orgNamed('$4')}, $3)) ${SELECT_SESSION}
        WHERE ${where}
        ORDER BY ${orderBy(sort)}
        LIMIT $2`),
      values,
    )
    return rows.map(toStored)
  }

  async function spansOf(
    orgId: string,
    keys: readonly number[],
    words: string,
  ): Promise<Map<number, Span[]>> {
    const spans = new Map<number, Span[]>(keys.map(key => [key, []]))
    for (const row of await ask(SPANS, [[...keys], words, orgId]))
      spans
        .get(Number(row['session_key']))
        ?.push({ from: Number(row['first_id']), to: Number(row['last_id']) })
    return spans
  }

  return {
    follow() {
      stopFollowing = followLogs({
        index,
        watch,
        report: message => report('warn', 'indexing failed, trying again', { error: message }),
      })
      return stopFollowing
    },
    catchUp: () => index(null),
    async find(query) {
      const wanted = parseWanted(query.words)
      if (wanted === null) return { found: [], next_cursor: null }
      const words = queryOf(wanted)
      const rows = await findSessions(query, words)
      const { sessions, next_cursor } = sortedPage(rows, query.limit, query.sort ?? 'created')
      const spans = await spansOf(
        query.org_id,
        rows.slice(0, query.limit).map(({ key }) => key),
        words,
      )
      const found = await Promise.all(
        sessions.map((session, at) => findHits(logs, session, spans.get(rows[at]?.key ?? 0) ?? [], wanted)),
      )
      return { found: found.filter(each => each !== null), next_cursor }
    },
    usage: async ({ org_id, created_by, since, until, by }: UsageQuery) =>
      (await ask(USAGE[by], [org_id, since, until, created_by ?? null])) as UsageRow[],
    shapes,
    behind: async () => countBehind(logs, await askBehind()),
    close: () => stopFollowing(),
  }
}
