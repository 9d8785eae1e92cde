/** `cairn doctor` for the store: the embedded one is checked on a copy, a database in place. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copyLiveStore, type LogStore, openSqliteStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { ensureFirstAdmin, hasLocalAdmin, localAdminId } from '../local/local-admin.ts'
import { type Database, databaseOf, openDatabase } from '../local/open-store.ts'
import { checkLogs } from './check-logs.ts'
import { checkLosses } from './check-losses.ts'
import type { Finding } from './finding.ts'

export async function checkStore(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
  withLogs: boolean,
): Promise<Finding[]> {
  try {
    const database = databaseOf(env)
    return database === null
      ? await checkEmbedded(dataDir, withLogs)
      : await checkDatabase(database, dataDir, withLogs)
  } catch (error) {
    return [{ check: 'store', verdict: 'fail', detail: asError(error).message }]
  }
}

/** In place: the database serves readers concurrently, and the check changes nothing. */
async function checkDatabase(database: Database, dataDir: string, withLogs: boolean): Promise<Finding[]> {
  const { shown } = database.address
  const store = await openDatabase(database, { readOnly: true })
  try {
    const found = await judgeStore(store, shown)
    if (!withLogs) return found
    const admin = hasLocalAdmin(dataDir) ? await store.accounts.getUser(localAdminId(dataDir)) : null
    if (admin === null)
      return [
        ...found,
        {
          check: 'logs',
          verdict: 'warn',
          detail: `not read: ${dataDir} does not belong to a server of this database`,
        },
      ]
    return [...found, await judgeLogs(store, admin.org_id)]
  } finally {
    await store.close()
  }
}

async function judgeStore(store: LogStore, where: string): Promise<Finding[]> {
  const problems = await store.check()
  return [
    {
      check: 'store',
      verdict: problems.length > 0 ? 'fail' : 'ok',
      detail: problems.length > 0 ? summed(problems) : `sound${where === '' ? '' : ` (${where})`}`,
    },
  ]
}

/** On a copy: the server has the store open, and a check must not change it. */
async function checkEmbedded(dataDir: string, withLogs: boolean): Promise<Finding[]> {
  const check = 'store'
  const copy = mkdtempSync(join(tmpdir(), 'cairn-doctor-'))
  try {
    // Before copying, because the marker file is not copied.
    const losses = checkLosses(dataDir).map(finding => ({ check, ...finding }))
    if (!(await copyLiveStore(dataDir, copy))) return [{ check, verdict: 'ok', detail: 'not created yet' }]
    const store = await openSqliteStore({ dir: copy })
    try {
      const found = [...losses, ...(await judgeStore(store, ''))]
      return withLogs
        ? [...found, await judgeLogs(store, (await ensureFirstAdmin(store, copy)).org_id)]
        : found
    } finally {
      await store.close()
    }
  } catch (error) {
    return [{ check, verdict: 'fail', detail: `cannot read the store: ${asError(error).message}` }]
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

async function judgeLogs(store: LogStore, orgId: string): Promise<Finding> {
  const { sessions, events, problems } = await checkLogs(store, orgId)
  return {
    check: 'logs',
    verdict: problems.length > 0 ? 'fail' : 'ok',
    detail: problems.length > 0 ? summed(problems) : `${sessions} sessions, ${events} events, all valid`,
  }
}

const SHOWN = 5
const summed = (problems: readonly string[]): string =>
  [
    ...problems.slice(0, SHOWN),
    ...(problems.length > SHOWN ? [`and ${problems.length - SHOWN} more`] : []),
  ].join('; ')
