import { execFileSync } from 'node:child_process'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './tooling/suite/longest-first.ts'
import { testGroups } from './tooling/test-groups.ts'

// The code under test needs node:sqlite and runs .ts files as child processes with this very Node.
if (Number.parseInt(process.versions.node, 10) < 24) throw new Error('Run the tests with: npm test')

/**
 * A timeout ends what hangs; it says nothing about speed. A test passes on a machine that is many times
 * slower, or busy with other work.
 */
const PATIENCE_MS = 120_000

/** Only .ci/run sets it, and reports every test that needed it (docs/testing.md). */
const retry = Number(process.env['E2E_RETRY'] ?? 0)
const report = process.env['CAIRN_TEST_REPORT']

// Which sample of their cases the tests run that enumerate many (agent/protocol/test/sample.ts).
process.env['CAIRN_SAMPLE'] ??= sampleOfCommit()

function sampleOfCommit(): string {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' })
    return String(Number.parseInt(commit.slice(0, 6), 16))
  } catch {
    return '0' // This copy is no clone.
  }
}

const groups = testGroups()

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    // Tests wait for clocks, processes and browsers. With four, files of browsers take longer than they gain.
    maxWorkers: 3,
    testTimeout: 2 * PATIENCE_MS,
    // Servers, engines and models are made in hooks; on a new machine the first engine is compiled there.
    hookTimeout: 3 * PATIENCE_MS,
    teardownTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS / 2 } },
    sequence: { sequencer: LongestFirst },
    reporters: [
      'default',
      ...(report === undefined ? [] : [['json', { outputFile: report }] as ['json', object]]),
      './tooling/suite/report.ts',
    ],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            '{agent,tune}/*/src/**/*.test.{ts,tsx}',
            '{agent,tune}/*/test/**/*.test.ts',
            '{dev,tooling}/**/*.test.ts',
          ],
          exclude: [...configDefaults.exclude, 'tooling/e2e/**', ...groups.faults, ...groups.tours],
          // Half of the processor time of a fresh process for each file went into loading the same modules.
          isolate: false,
        },
      },
      ...Object.entries(groups).map(([name, include]) => ({
        extends: true as const,
        test: {
          name,
          include,
          testTimeout: 3 * PATIENCE_MS,
          retry,
          // The files of a runner share one process of services and one Chromium (agent/app/e2e/shared.ts).
          isolate: false,
        },
      })),
    ],
  },
})
