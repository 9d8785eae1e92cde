/** The statements of settings, identical for both stores, one statement each. Callers supply the time. */
import { orgNamed } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

/** `$1` is the organisation, `$2` the kind, `$3` the name. */
const THE_SETTING = `org_key = ${orgNamed('$1')} AND kind = $2 AND name = $3`

const TEXT = {
  settingsSeq: `SELECT coalesce(max(seq), 0) AS seq FROM settings WHERE org_key = ${orgNamed('$1')}`,
  settingHeads: `
    SELECT * FROM settings s
    WHERE org_key = ${orgNamed('$1')} AND version = (
      SELECT max(version) FROM settings t
      WHERE t.org_key = s.org_key AND t.kind = s.kind AND t.name = s.name
    )
    ORDER BY kind, name`,
  settingVersions: `SELECT * FROM settings WHERE ${THE_SETTING} ORDER BY version DESC LIMIT $4`,
  settingVersion: `SELECT * FROM settings WHERE ${THE_SETTING} AND version = $4`,
  settingChanges: `
    SELECT * FROM settings WHERE org_key = ${orgNamed('$1')} AND seq < $2
    ORDER BY seq DESC LIMIT $3`,
  // The next version is computed by the statement, so that of two changes of one version only one is stored.
  addSetting: `
    INSERT INTO settings
      (org_key, seq, kind, name, version, change, content, sealed, note, restored_from, changed_by, changed_at)
    SELECT
      org_key,
      (SELECT coalesce(max(seq), 0) + 1 FROM settings s WHERE s.org_key = o.org_key),
      $2, $3, CAST($4 AS BIGINT) + 1, $5, $6, $7, $8, CAST($9 AS BIGINT), $10, CAST($11 AS BIGINT)
    FROM organisations o
    WHERE id = $1 AND CAST($4 AS BIGINT) = (
      SELECT coalesce(max(version), 0) FROM settings s
      WHERE s.org_key = o.org_key AND s.kind = $2 AND s.name = $3
    )
    ON CONFLICT DO NOTHING
    RETURNING version`,
  forgetSecrets: `
    UPDATE settings SET sealed = NULL
    WHERE ${THE_SETTING} AND version < $4 AND sealed IS NOT NULL
    RETURNING version`,
  pinAgent: `
    INSERT INTO session_agents (org_key, session_id, agent, version)
    SELECT org_key, $2, $3, CAST($4 AS BIGINT) FROM organisations WHERE id = $1
    ON CONFLICT DO NOTHING
    RETURNING version`,
  pinnedAgent: `
    SELECT agent, version FROM session_agents WHERE org_key = ${orgNamed('$1')} AND session_id = $2`,
  agentSessions: `
    SELECT version, count(*) AS sessions FROM session_agents
    WHERE org_key = ${orgNamed('$1')} AND agent = $2
    GROUP BY version`,
} as const

export type SettingStatement = keyof typeof TEXT

export const SETTING_SQL: NamedSql<SettingStatement> = {
  prefix: 'setting',
  text: TEXT,
  reads: [
    'settingsSeq',
    'settingHeads',
    'settingVersions',
    'settingVersion',
    'settingChanges',
    'pinnedAgent',
    'agentSessions',
  ],
}
