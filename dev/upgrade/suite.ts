/** The conformance suite of the previous program on stores that the migrations of the new one have made. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './packages.ts'

const SUITES = ['agent/log/test/sqlite.test.ts', 'agent/log/test/postgres.test.ts']
const VITEST = ['run', '--project', 'unit', '--maxWorkers', '1', '--reporter', 'dot', ...SUITES]

export type SuiteResult = { verdict: 'ok' | 'FAILED' | 'not run'; detail: string }

export function runPreviousSuite(previous: Release, next: Release): SuiteResult {
  const { checkout } = previous
  if (checkout === null) return { verdict: 'not run', detail: 'a tarball contains no suite' }
  if (!existsSync(join(checkout, 'agent/log/test/newer-schema.ts')))
    return { verdict: 'not run', detail: 'the suite of that commit cannot run on a newer schema' }
  if (next.folder === null) return { verdict: 'not run', detail: 'the new program is not a package' }
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(checkout, 'node_modules/vitest/vitest.mjs'), ...VITEST],
    {
      cwd: checkout,
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
      env: { ...process.env, CAIRN_NEWER_MIGRATIONS: join(next.folder, 'agent'), NO_COLOR: '1' },
    },
  )
  const output = `${stdout}${stderr}`
  const summary = /^\s*Tests\s+(.+)$/m.exec(output)?.[1] ?? output.slice(-2000)
  return { verdict: status === 0 ? 'ok' : 'FAILED', detail: summary }
}
