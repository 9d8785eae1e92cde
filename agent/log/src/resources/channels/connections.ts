/** Connections to platforms: those of cairn.yaml, and those that administrators create in the web UI. */
import type { Asking } from '../../engine/named-sql.ts'
import type { ConnectionStatement } from './connections-sql.ts'
import type { ChannelStatement } from './sql.ts'

export type ConnectionState = 'connecting' | 'live' | 'degraded' | 'conflict' | 'broken' | 'disabled'
export type ChannelConnection = {
  id: string
  org_id: string
  name: string
  platform: string
  /** Acts for senders without a linked user account. */
  service_account_id: string
  /** Once `disabled`, only `enableConnection` changes it. */
  state: ConnectionState
  state_since: number
  last_error: string | null
  last_error_at: number | null
  /** The position that a polling adapter has confirmed, in the adapter's own format. */
  poll_cursor: string | null
  /** Where it is defined: in cairn.yaml, or in the web UI. */
  origin: 'config' | 'page'
  /** JSON; null if cairn.yaml has the settings. */
  settings: string | null
  /** JSON, encrypted; the store cannot read it. */
  sealed_secrets: string | null
  /**
   * Changes with the settings and with enabling; a process that runs another revision restarts the
   * connection.
   */
  revision: number
  /** Hash of the settings and secrets that the platform rejected; these are not tried again. */
  refused_sha256: string | null
}
type Named = Pick<ChannelConnection, 'id' | 'org_id' | 'name' | 'platform' | 'service_account_id'>
export type NewConnection = Named & { settings: string; sealed_secrets: string }

export type ConnectionFigures = {
  dead: number
  last_in: number | null
  last_out: number | null
  /** Time of the oldest event that was not handled yet. */
  waiting_since: number | null
}

export interface ConnectionStore {
  /** Sets what the configuration defines of a connection; its state and cursor are kept. */
  putConnection(connection: Named): Promise<void>
  /** Creates a connection of the web UI. False if its organisation has one with that name. */
  createConnection(connection: NewConnection): Promise<boolean>
  /** For connections of the web UI; false if it has changed since it was read. */
  changeConnection(
    id: string,
    revision: number,
    changed: Pick<NewConnection, 'settings' | 'sealed_secrets'>,
  ): Promise<boolean>
  /** Deletes its data as well, except its sessions. False if it does not exist or has another origin. */
  deleteConnection(id: string, origin: ChannelConnection['origin']): Promise<boolean>
  /** Also restarts a connection that is enabled. */
  enableConnection(id: string): Promise<void>
  disableConnection(id: string): Promise<void>
  getConnection(id: string): Promise<ChannelConnection | null>
  listConnections(orgId: string): Promise<ChannelConnection[]>
  /** Connections of the web UI in every organisation, and all of this organisation. */
  standingConnections(orgId: string): Promise<ChannelConnection[]>
  /** The state that the process running it reports. */
  setConnection(id: string, state: ConnectionState, error: string | null): Promise<void>
  /** The platform has rejected these settings and secrets. */
  refuseConnection(id: string, sha256: string): Promise<void>
  connectionFigures(id: string): Promise<ConnectionFigures>
  /**
   * After a successful delivery: a degraded or broken connection is live again, and its last error is kept.
   */
  recoverConnection(id: string): Promise<void>
  saveCursor(id: string, cursor: string | null): Promise<void>
}

/** Data of a connection, one statement per table; its row is deleted first. */
const ITS_ROWS: readonly ConnectionStatement[] = [
  'deleteItsLeases',
  'deleteItsDeliveries',
  'deleteItsInbound',
  'deleteItsSenders',
  'deleteItsVisitors',
  'deleteItsConversations',
  // Last: the others find the organisation by it.
  'deleteItsEntry',
]

/** Creates the organisation unless it exists: the store may know it by name alone. */
export async function ensureOrganisation(
  { ask, act }: Asking<ChannelStatement>,
  orgId: string,
  at: number,
): Promise<void> {
  while ((await ask('findOrganisation', [orgId])).length === 0) await act('putOrganisation', orgId, at)
}

export function createConnectionStore(asking: Asking<ChannelStatement>, now: () => number): ConnectionStore {
  const { ask, all, one, act, did } = asking
  return {
    async putConnection({ id, org_id, name, platform, service_account_id }) {
      await ensureOrganisation(asking, org_id, now())
      await act('putConnection', id, org_id, name, platform, service_account_id)
      await act('enterConnection', id, org_id)
    },
    async createConnection({ id, org_id, name, platform, service_account_id, settings, sealed_secrets }) {
      await ensureOrganisation(asking, org_id, now())
      const given = [id, org_id, name, platform, service_account_id, settings, sealed_secrets, now()]
      if (!(await did('createConnection', ...given))) return false
      await act('enterConnection', id, org_id)
      return true
    },
    changeConnection: (id, revision, { settings, sealed_secrets }) =>
      did('changeConnection', id, revision, settings, sealed_secrets),
    async deleteConnection(id, origin) {
      if (!(await did('deleteConnection', id, origin))) return false
      for (const statement of ITS_ROWS) await act(statement, id)
      return true
    },
    enableConnection: id => act('enableConnection', id, now()),
    disableConnection: id => act('disableConnection', id, now()),
    getConnection: id => one('connection', id),
    listConnections: orgId => all('connections', orgId),
    standingConnections: orgId => all('standingConnections', orgId),
    setConnection: (id, state, error) =>
      act('setConnection', id, state, error, error === null ? null : now(), now()),
    refuseConnection: (id, sha256) => act('refuseConnection', id, sha256),
    async connectionFigures(id) {
      const [row] = await ask('connectionFigures', [id])
      const at = (key: string): number | null =>
        row?.[key] === null || row?.[key] === undefined ? null : Number(row[key])
      return {
        dead: at('dead') ?? 0,
        last_in: at('last_in'),
        last_out: at('last_out'),
        waiting_since: at('waiting_since'),
      }
    },
    recoverConnection: id => act('recoverConnection', id, now()),
    saveCursor: (id, cursor) => act('saveCursor', id, cursor),
  }
}
