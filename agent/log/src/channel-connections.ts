/** Connections to platforms: those of cairn.yaml, and those that administrators make on their page. */
import type { Asking } from './ask-channel.ts'
import type { ConnectionStatement } from './connection-sql.ts'

export type ConnectionState = 'connecting' | 'live' | 'degraded' | 'conflict' | 'broken' | 'disabled'
export type ChannelConnection = {
  id: string
  org_id: string
  name: string
  platform: string
  /** Speaks for senders whom no user account is linked to. */
  service_account_id: string
  /** Once `disabled`, only `enableConnection` ends it. */
  state: ConnectionState
  state_since: number
  last_error: string | null
  last_error_at: number | null
  /** How far a polling adapter has confirmed, as it wrote it. */
  poll_cursor: string | null
  /** Who says what it is: cairn.yaml, or the administrators' page. */
  origin: 'config' | 'page'
  /** JSON; null where cairn.yaml has them. */
  settings: string | null
  /** JSON, encrypted; the store cannot read it. */
  sealed_secrets: string | null
  /** Of settings and of whether it is enabled: a process that runs another begins anew. */
  revision: number
  /** Of the settings and secrets that the platform refused: nobody tries those again. */
  refused_sha256: string | null
}
type Named = Pick<ChannelConnection, 'id' | 'org_id' | 'name' | 'platform' | 'service_account_id'>
export type NewConnection = Named & { settings: string; sealed_secrets: string }

export type ConnectionFigures = {
  dead: number
  last_in: number | null
  last_out: number | null
  /** The oldest event that nobody has taken up. */
  waiting_since: number | null
}

export interface ConnectionStore {
  /** What the configuration says of a connection; its state and cursor stay. */
  putConnection(connection: Named): Promise<void>
  /** One of the page. False: its organisation has one of that name. */
  createConnection(connection: NewConnection): Promise<boolean>
  /** Only one of the page, and only as it was read: false where it has changed since. */
  changeConnection(
    id: string,
    revision: number,
    changed: Pick<NewConnection, 'settings' | 'sealed_secrets'>,
  ): Promise<boolean>
  /** With all that was kept of it but its sessions. False: there is none, or somebody else says what it is. */
  deleteConnection(id: string, origin: ChannelConnection['origin']): Promise<boolean>
  /** Also for one that is enabled: whoever runs it begins anew. */
  enableConnection(id: string): Promise<void>
  disableConnection(id: string): Promise<void>
  getConnection(id: string): Promise<ChannelConnection | null>
  listConnections(orgId: string): Promise<ChannelConnection[]>
  /** Those of the page, of every organisation, and all of this one. */
  standingConnections(orgId: string): Promise<ChannelConnection[]>
  /** What a process that runs it says. */
  setConnection(id: string, state: ConnectionState, error: string | null): Promise<void>
  /** The platform has refused these settings and secrets. */
  refuseConnection(id: string, sha256: string): Promise<void>
  connectionFigures(id: string): Promise<ConnectionFigures>
  /** Something went out: what was degraded or broken is live again, and its last error stays to be read. */
  recoverConnection(id: string): Promise<void>
  saveCursor(id: string, cursor: string | null): Promise<void>
}

/** What was kept of a connection, each table by a statement; its row went before. */
const ITS_ROWS: readonly ConnectionStatement[] = [
  'deleteItsLeases',
  'deleteItsDeliveries',
  'deleteItsInbound',
  'deleteItsSenders',
  'deleteItsVisitors',
  'deleteItsConversations',
]

export const createConnectionStore = (
  { ask, all, one, act, did }: Asking,
  now: () => number,
): ConnectionStore => ({
  putConnection: ({ id, org_id, name, platform, service_account_id }) =>
    act('putConnection', id, org_id, name, platform, service_account_id),
  createConnection: ({ id, org_id, name, platform, service_account_id, settings, sealed_secrets }) =>
    did('createConnection', id, org_id, name, platform, service_account_id, settings, sealed_secrets, now()),
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
})
