/** Grants on Postgres; changes run under the lock of their session. */
import { keyOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import { type GrantChange, type GrantReads, noGrant, type StoredGrant, toGrant } from './row.ts'

const DROP_EXPIRED: Statement = {
  name: 'drop_grants',
  text: `DELETE FROM grants WHERE org_key = $1 AND session_key = $2 AND expires_at <= $3`,
}
const ADD: Statement = {
  name: 'add_grant',
  text: `
    INSERT INTO grants (org_key, id, session_key, tool, arguments_hash, granted_by, granted_by_kind, created_at,
      expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
}
const CONSUME: Statement = {
  name: 'consume_grant',
  text: `
    DELETE FROM grants
    WHERE org_key = $1 AND id = $2 AND session_key = $3 AND tool = $4 AND arguments_hash = $5
      AND expires_at > $6
    RETURNING id`,
}
const GRANT: Statement = {
  name: 'grant',
  text: `
    SELECT id, granted_by, granted_by_kind FROM grants
    WHERE (org_key, session_key) = ${keyOf('$1')} AND tool = $2 AND arguments_hash = $3
      AND expires_at > $4
    ORDER BY expires_at LIMIT 1`,
}

export const grantsOnPostgres: Resource<GrantChange, GrantReads>['postgres'] = {
  changes: {
    async 'grant.add'(ask, { id, tool, arguments_hash, granted_by, expires_at }, { row, at }) {
      await ask(DROP_EXPIRED, [row.org_key, row.key, at])
      await ask(ADD, [
        row.org_key,
        id,
        row.key,
        tool,
        arguments_hash,
        granted_by.id,
        granted_by.kind,
        at,
        expires_at,
      ])
    },
    async 'grant.consume'(ask, { id, tool, arguments_hash }, { row, at }) {
      if ((await ask(CONSUME, [row.org_key, id, row.key, tool, arguments_hash, at])).length === 0)
        throw noGrant(row, tool)
    },
  },

  store: ({ db, now }) => ({
    async find(sessionId, tool, argumentsHash) {
      const [row] = await db.query(GRANT, [sessionId, tool, argumentsHash, now()], { repeatable: true })
      return toGrant(row as StoredGrant | undefined)
    },
  }),
}
