import { globSync, readFileSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'

// The code under test needs node:sqlite and runs .ts files as child processes with this very Node.
if (Number.parseInt(process.versions.node, 10) < 24) throw new Error('Run the tests with: npm test')

/**
 * A limit ends what hangs; it is no claim about speed. A test passes on a machine that is many times slower,
 * or busy with other things.
 */
const PATIENCE_MS = 120_000

const E2E = '{agent/app,tune/cli,tooling}/e2e/**/*.test.ts'
/** The end-to-end tests that open a browser page. */
const PAGES = globSync(E2E).filter(file => readFileSync(file, 'utf8').includes(" from './browser.ts'"))

/** Only .ci/run sets it, and tells every test that needed it (docs/testing.md). */
const retry = Number(process.env['E2E_RETRY'] ?? 0)

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 2 * PATIENCE_MS,
    // Servers, engines and models are made in hooks; on a new machine the first engine is compiled there.
    hookTimeout: 3 * PATIENCE_MS,
    teardownTimeout: PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS / 2 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            '{agent,tune}/*/src/**/*.test.{ts,tsx}',
            '{agent,tune}/*/test/**/*.test.ts',
            'tooling/**/*.test.ts',
          ],
          exclude: [...configDefaults.exclude, 'tooling/e2e/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: [E2E],
          exclude: [...configDefaults.exclude, ...PAGES],
          testTimeout: 3 * PATIENCE_MS,
          retry,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'pages',
          include: PAGES,
          testTimeout: 3 * PATIENCE_MS,
          retry,
          // A browser and a server already fill the machine; two of each make the timings a lottery.
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
