/** Snapshots of a fold on Postgres (see ../snapshots.ts): saving and reading are one statement each. */
import type { EventId } from '@cairn/protocol'
import { keyOf } from '../engine/directory.ts'
import { checked, type StoredSnapshot } from '../sqlite/snapshots.ts'
import type { Snapshot } from '../store.ts'
import type { Database, Statement } from './connections.ts'

/** The digest of snapshots.ts, computed on the server, where the record is. */
const SAVE: Statement = {
  name: 'save_snapshot',
  text: `
    INSERT INTO snapshots (org_key, session_key, version, last_id, digest, body)
    SELECT e.org_key, e.session_key, $2, e.id, encode(sha256(convert_to(
        $2::text || E'\\n' || e.id || E'\\n' || e.json || E'\\n' || $4::text, 'UTF8')), 'hex'), $4
    FROM events e WHERE (e.org_key, e.session_key) = ${keyOf('$1')} AND e.id = $3
    ON CONFLICT (org_key, session_key) DO UPDATE
    SET version = excluded.version, last_id = excluded.last_id, digest = excluded.digest,
      body = excluded.body
    RETURNING session_key`,
}
const FIND: Statement = {
  name: 'find_snapshot',
  text: `
    SELECT n.last_id, n.digest, n.body, e.json
    FROM snapshots n
    JOIN events e ON e.org_key = n.org_key AND e.session_key = n.session_key AND e.id = n.last_id
    WHERE (n.org_key, n.session_key) = ${keyOf('$1')} AND n.version = $2`,
}

export async function saveSnapshot(
  db: Database,
  sessionId: string,
  { version, last_id, body }: Snapshot,
): Promise<boolean> {
  return (await db.query(SAVE, [sessionId, version, last_id, body], { repeatable: true })).length > 0
}

export async function readSnapshot(
  db: Database,
  sessionId: string,
  version: string,
): Promise<Snapshot | null> {
  const [row] = (await db.query(FIND, [sessionId, version], {
    repeatable: true,
  })) as (StoredSnapshot & {
    last_id: EventId
    json: string
  })[]
  return row === undefined ? null : checked(version, row, row.json)
}
