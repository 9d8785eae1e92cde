/** Grants on the embedded store. */
import { keyOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import { type GrantChange, type GrantReads, noGrant, type StoredGrant, toGrant } from './row.ts'

export const grantsOnSqlite: Resource<GrantChange, GrantReads>['sqlite'] = {
  changes(db) {
    const add = db.prepare(`
      INSERT INTO grants (org_key, id, session_key, tool, arguments_hash, granted_by, granted_by_kind, created_at,
        expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    const consume = db.prepare(`
      DELETE FROM grants
      WHERE org_key = ? AND id = ? AND session_key = ? AND tool = ? AND arguments_hash = ? AND expires_at > ?
      RETURNING id`)
    const dropExpired = db.prepare(
      `DELETE FROM grants WHERE org_key = ? AND session_key = ? AND expires_at <= ?`,
    )
    return {
      'grant.add'({ id, tool, arguments_hash, granted_by, expires_at }, { row, at }) {
        dropExpired.run(row.org_key, row.key, at)
        add.run(
          row.org_key,
          id,
          row.key,
          tool,
          arguments_hash,
          granted_by.id,
          granted_by.kind,
          at,
          expires_at,
        )
      },
      'grant.consume'({ id, tool, arguments_hash }, { row, at }) {
        if (consume.get(row.org_key, id, row.key, tool, arguments_hash, at) === undefined)
          throw noGrant(row, tool)
      },
    }
  },

  reads(db, now) {
    const grant = db.prepare(`
      SELECT id, granted_by, granted_by_kind FROM grants
      WHERE (org_key, session_key) = ${keyOf('?')} AND tool = ? AND arguments_hash = ?
        AND expires_at > ?
      ORDER BY expires_at LIMIT 1`)
    return {
      find: (sessionId, tool, argumentsHash) =>
        toGrant(grant.get(sessionId, tool, argumentsHash, now()) as StoredGrant | undefined),
    }
  },
}
