/** cairn upgrade --check: what the next start of this program does to the store. */
import { checkPostgresUpgrade, checkSqliteUpgrade, type UpgradePlan } from '@cairn/log'
import { plural } from '@cairn/protocol'
import { dataDirOf } from '../local/data-dir.ts'
import { databaseOf, explainDatabase } from '../local/open-store.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT, UsageError } from '../exit.ts'

export const upgrade = defineCommand({
  name: 'upgrade',
  summary: 'Show what the next start of this program does to the store',
  usage: [
    [
      'upgrade --check',
      'print the schema version now and wanted, the size, the estimated time, and whether a rollback needs a ' +
        'restore. Changes nothing, also while a server runs',
    ],
  ],
  options: { check: { type: 'boolean', default: false } },
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    if (!values.check)
      throw new UsageError(
        'cairn upgrade needs --check: the store itself is upgraded by the next start of cairn serve',
      )
    const database = databaseOf(io.env)
    const dataDir = dataDirOf(io.env)
    const plan =
      database === null
        ? checkSqliteUpgrade(dataDir)
        : await explainDatabase(
            database,
            checkPostgresUpgrade({ url: database.url, schema: database.address.schema }),
          )
    const store = database?.address.shown ?? dataDir
    io.out(values.json ? `${JSON.stringify({ store, ...plan })}\n` : showPlan(store, plan))
    if (plan.migrations.length > 0 && !values.json)
      io.note(
        database === null
          ? 'Run cairn backup DIRECTORY before the upgrade, also while the server runs.'
          : 'Run pg_dump before the upgrade; cairn backup prints its arguments.',
      )
    return EXIT.ok.code
  },
})

export function showPlan(store: string, plan: UpgradePlan): string {
  const rows: [string, string][] = [
    ['store', store],
    ['schema now', String(plan.schema_now)],
    ['schema wanted', wantedText(plan)],
    [
      'size',
      `${(plan.size_bytes / 1e6).toFixed(1)} MB, ${plural(plan.sessions, 'session', 'sessions')}, ` +
        plural(plan.events, 'event', 'events'),
    ],
    ['estimated time', timeText(plan)],
    ['rollback', rollbackText(plan)],
  ]
  return rows.map(([name, text]) => `${name.padEnd(15)} ${text}\n`).join('')
}

function wantedText({ schema_now, schema_wanted, migrations }: UpgradePlan): string {
  if (migrations.length > 0) return `${schema_wanted}: ${migrations.join(', ')}`
  return schema_wanted < schema_now
    ? `${schema_wanted}: a newer program has migrated the store, and this one may run on it`
    : `${schema_wanted}: nothing to migrate`
}

function timeText({ migrations, estimated_s, scanned_rows }: UpgradePlan): string {
  if (migrations.length === 0) return 'none'
  const time = estimated_s < 1 ? 'less than a second' : `about ${Math.ceil(estimated_s)} s`
  const scanned = Object.entries(scanned_rows).map(
    ([table, rows]) => `${table} (${plural(rows, 'row', 'rows')})`,
  )
  return scanned.length === 0 ? time : `${time}, for ${scanned.join(', ')}`
}

function rollbackText({ migrations, rollback_without_restore, schema_now }: UpgradePlan): string {
  if (migrations.length === 0) return 'possible without a restore: the start changes no schema'
  return rollback_without_restore
    ? `possible without a restore: a program that knows schema ${schema_now} may run on the new schema`
    : 'only by restoring a copy from before the upgrade'
}
