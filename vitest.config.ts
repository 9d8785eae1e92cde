import { configDefaults, defineConfig } from 'vitest/config'

// The code under test needs node:sqlite and runs .ts files as child processes with this very Node.
if (Number.parseInt(process.versions.node, 10) < 24) throw new Error('Run the tests with: npm test')

export default defineConfig({
  test: {
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{agent,tune}/*/src/**/*.test.{ts,tsx}', '{agent,tune}/*/test/**/*.test.ts', 'tooling/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'tooling/e2e/**'],
          testTimeout: 20_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['{agent/app,tune/cli,tooling}/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // A browser and a server already fill the machine; two of each make the timings a lottery.
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
