/** Grants: approvals of one call with exactly these arguments, each valid once. */
import { Refusing } from '../../engine/refusing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'
import type { Decider } from '../inbox/stored-item.ts'

/** `granted_by` is null if it was not recorded, by older releases. */
export type Grant = { id: string; granted_by: Decider | null }

export interface GrantReads {
  /** A valid grant for exactly that call; of several the one that expires first. */
  find(sessionId: string, tool: string, argumentsHash: string): Promise<Grant | null>
}

export type GrantChange =
  | {
      do: 'grant.add'
      id: string
      tool: string
      arguments_hash: string
      granted_by: Decider
      expires_at: number
    }
  /**
   * Guard and change in one DELETE … RETURNING: rejected with `no_grant` unless the grant is valid and covers
   * that call.
   */
  | { do: 'grant.consume'; id: string; tool: string; arguments_hash: string }

export const grantChanges: Resource<GrantChange, GrantReads>['changes'] = {
  'grant.add': {},
  'grant.consume': {},
}

export const noGrant = (row: StoredSession, tool: string): Refusing =>
  new Refusing('no_grant', `[commit] session ${row.id} has no live grant for this call of ${tool}`, row)

/** A grant as it is stored. */
export type StoredGrant = { id: string; granted_by: string; granted_by_kind: Decider['kind'] | null }

export const toGrant = (row: StoredGrant | undefined): Grant | null =>
  row === undefined
    ? null
    : {
        id: row.id,
        granted_by: row.granted_by_kind === null ? null : { kind: row.granted_by_kind, id: row.granted_by },
      }
