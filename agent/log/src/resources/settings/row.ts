/**
 * Settings that administrators change while the service runs: agents, providers, MCP servers, skills and
 * their secrets. Every change is a row that is never changed again, so the rows are the versions and the
 * audit trail. A replaced secret alone is erased. Times are epoch milliseconds.
 */
import { createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { SETTING_SQL, type SettingStatement } from './sql.ts'

export type SettingKey = { org_id: string; kind: string; name: string }
export type SettingRow = {
  /** Position among all changes of the organisation. */
  seq: number
  kind: string
  name: string
  version: number
  change: string
  /** JSON; null: a removal, or a secret. */
  content: string | null
  /** A secret, encrypted by the caller; null: none, or replaced since. */
  sealed: string | null
  note: string | null
  restored_from: number | null
  changed_by: string
  changed_at: number
}
export type NewSetting = Pick<
  SettingRow,
  'change' | 'content' | 'sealed' | 'note' | 'restored_from' | 'changed_by'
>

export type SettingStore = {
  /** Grows with every change; 0: none. */
  seq(orgId: string): Promise<number>
  /** The latest version of everything, removed ones included. */
  heads(orgId: string): Promise<SettingRow[]>
  /** The newest first. */
  versions(key: SettingKey, limit: number): Promise<SettingRow[]>
  version(key: SettingKey, version: number): Promise<SettingRow | null>
  /** Changes of all kinds before this position, the newest first. */
  changes(orgId: string, beforeSeq: number, limit: number): Promise<SettingRow[]>
  /** Stores version `base + 1` and returns it; null if `base` is not the latest version. */
  add(key: SettingKey, base: number, setting: NewSetting): Promise<number | null>
  /** Erases the secrets of the versions before this one. */
  forgetSecrets(key: SettingKey, version: number): Promise<void>
  /** Records with which version of its agent a session began, once. */
  pinAgent(orgId: string, sessionId: string, agent: string, version: number): Promise<void>
  pinnedAgent(orgId: string, sessionId: string): Promise<{ agent: string; version: number } | null>
  /** Numbers of sessions by version of the agent. */
  agentSessions(orgId: string, agent: string): Promise<{ version: number; sessions: number }[]>
}

type Numbers = 'seq' | 'version' | 'restored_from' | 'changed_at'
type Stored = Omit<SettingRow, Numbers> & Record<Numbers, unknown>

/** Names each column: a newer schema may have more. */
const toRow = ({ kind, name, change, content, sealed, note, changed_by, ...row }: Stored): SettingRow => ({
  seq: Number(row.seq),
  kind,
  name,
  version: Number(row.version),
  change,
  content,
  sealed,
  note,
  restored_from: row.restored_from === null ? null : Number(row.restored_from),
  changed_by,
  changed_at: Number(row.changed_at),
})

/** Two changes of different settings may compute the same position at once; one of them is repeated. */
const MAX_ATTEMPTS = 20

function createSettingStore(ask: AskNamed<SettingStatement>, now: () => number): SettingStore {
  const { all, one, act } = createAsking(ask)
  const values = ({ org_id, kind, name }: SettingKey) => [org_id, kind, name] as const
  const rows = async (found: Promise<Stored[]>): Promise<SettingRow[]> => (await found).map(toRow)
  const latest = async (key: SettingKey): Promise<number> =>
    Number((await all<Stored>('settingVersions', ...values(key), 1))[0]?.version ?? 0)
  return {
    seq: async orgId => Number((await one<{ seq: unknown }>('settingsSeq', orgId))?.seq ?? 0),
    heads: orgId => rows(all('settingHeads', orgId)),
    versions: (key, limit) => rows(all('settingVersions', ...values(key), limit)),
    async version(key, version) {
      const row = await one<Stored>('settingVersion', ...values(key), version)
      return row === null ? null : toRow(row)
    },
    changes: (orgId, beforeSeq, limit) => rows(all('settingChanges', orgId, beforeSeq, limit)),
    async add(key, base, { change, content, sealed, note, restored_from, changed_by }) {
      const row = [base, change, content, sealed, note, restored_from, changed_by, now()] as const
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const added = await one<{ version: unknown }>('addSetting', ...values(key), ...row)
        if (added !== null) return Number(added.version)
        if ((await latest(key)) !== base) return null
      }
      throw new Error(`[settings] no free position for ${key.kind} ${key.name} in ${MAX_ATTEMPTS} attempts`)
    },
    forgetSecrets: (key, version) => act('forgetSecrets', ...values(key), version),
    pinAgent: (orgId, sessionId, agent, version) => act('pinAgent', orgId, sessionId, agent, version),
    async pinnedAgent(orgId, sessionId) {
      const row = await one<{ agent: string; version: unknown }>('pinnedAgent', orgId, sessionId)
      return row === null ? null : { agent: row.agent, version: Number(row.version) }
    },
    agentSessions: async (orgId, agent) =>
      (await all<{ version: unknown; sessions: unknown }>('agentSessions', orgId, agent)).map(row => ({
        version: Number(row.version),
        sessions: Number(row.sessions),
      })),
  }
}

export const settings = onBothStores<never, SettingStore, SettingStatement>(
  SETTING_SQL,
  {},
  createSettingStore,
)
