/** The rows of `npm run release:check` about upgrades: a short form of `npm run rehearse:upgrade`. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root } from '../workspace.ts'
import { NotRun } from './as-user.ts'

const TIMEOUT_MS = 1_200_000

export const UPGRADE_CHECKS: Record<string, () => string> = {
  'upgrade and rollback on Postgres': () => rehearse('--sessions', '8', '--kills', '3', '--only', 'rolls'),
  'upgrade and rollback of the embedded store': () => rehearse('--only', 'embedded'),
  'previous suite on the new schema': () => rehearse('--only', 'suite'),
}

/** The rehearsal prints a line for each thing that it judges, with the verdict "ok" or "FAILED". */
function rehearse(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'dev/upgrade/rehearse.ts'), ...args],
    { cwd: root, encoding: 'utf8', timeout: TIMEOUT_MS, maxBuffer: 64 * 2 ** 20 },
  )
  const lines = stdout.split('\n')
  const failed = lines.filter(line => line.includes('  FAILED  '))
  if (status !== 0) throw new Error([...failed, failed.length === 0 ? stderr.slice(-2000) : ''].join('\n'))
  const notRun = lines.filter(line => line.includes('  not run  '))
  if (notRun.length > 0) throw new NotRun(notRun.map(line => line.split('  not run  ')[1]?.trim()).join('; '))
  const judged = lines.filter(line => line.includes('  ok     ')).length
  return `${judged} of ${judged} judged as ok, ${lines.find(line => line.startsWith('previous '))?.trim() ?? ''}`
}
