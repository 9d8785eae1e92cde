/** Snapshots of a fold on Postgres (see ../snapshots.ts): saving and reading are one statement each. */
import type { EventId } from '@cairn/protocol'
import { checked, type StoredSnapshot } from '../sqlite/snapshots.ts'
import type { Snapshot } from '../store.ts'
import type { Database, Statement } from './connections.ts'

/** The digest of snapshots.ts, computed on the server, where the record is. */
const SAVE: Statement = {
  name: 'save_snapshot',
  text: `
    INSERT INTO snapshots (session_key, version, last_id, digest, body)
    SELECT s.key, $2, e.id, encode(sha256(convert_to(
        $2::text || E'\\n' || e.id || E'\\n' || e.json || E'\\n' || $4::text, 'UTF8')), 'hex'), $4
    FROM sessions s JOIN events e ON e.session_key = s.key AND e.id = $3
    WHERE s.id = $1
    ON CONFLICT (session_key) DO UPDATE
    SET version = excluded.version, last_id = excluded.last_id, digest = excluded.digest,
      body = excluded.body
    RETURNING session_key`,
}
const FIND: Statement = {
  name: 'find_snapshot',
  text: `
    SELECT n.last_id, n.digest, n.body, e.json
    FROM sessions s
    JOIN snapshots n ON n.session_key = s.key
    JOIN events e ON e.session_key = s.key AND e.id = n.last_id
    WHERE s.id = $1 AND n.version = $2`,
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
