// Every npm script starts here. Plain JavaScript, because it must run on the system's Node before the
// pinned one is installed. Each command does its own set-up: clone, `npm start`, nothing in between.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { devCommands } from '../dev/commands.mjs'
import { printAttackTable } from './attack-table.mjs'
import { ensureInstalled } from './install.mjs'
import { runPinned } from './pinned-node.mjs'
import { ensureWebBuilt } from './web-build.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const cli = 'agent/app/src/cli/main.ts'
const tuneCli = 'tune/cli/src/main.ts'
const vitest = 'node_modules/vitest/vitest.mjs'

const run = (...args) => runPinned(args, { cwd: root })

// Commands are started where the person stands, so that paths they type mean what they say.
const runHere = (script, args) =>
  runPinned([join(root, script), ...args], { cwd: process.env.INIT_CWD ?? process.cwd() })

// What a request leaves lives until its commit is on disk: in a nursery that holds it all the collector
// copies it once less.
const serviceFlags = ['--max-semi-space-size=32']
const runCli = (...args) =>
  runPinned([...serviceFlags, join(root, cli), ...args], { cwd: process.env.INIT_CWD ?? process.cwd() })

async function runAll(steps) {
  const failed = []
  for (const [name, step] of Object.entries(steps)) {
    console.log(`\n> ${name}`)
    if ((await step()) !== 0) failed.push(name)
  }
  console.log(failed.length === 0 ? '\nAll checks passed.' : `\nFailed: ${failed.join(', ')}`)
  return failed.length === 0 ? 0 : 1
}

async function typecheck() {
  const tsc = 'node_modules/typescript/bin/tsc'
  const node = await run(tsc, '--noEmit', '-p', 'tsconfig.json')
  const browser = await run(tsc, '--noEmit', '-p', 'agent/web/tsconfig.json')
  const examples = await run(tsc, '--noEmit', '-p', 'examples/tsconfig.json')
  return node || browser || examples
}

const lint = (...args) => run('node_modules/oxlint/bin/oxlint', '--deny-warnings', ...args)
const format = (...args) => run('node_modules/prettier/bin/prettier.cjs', '--log-level', 'warn', ...args, '.')
/** Exports, types and dependencies that nothing uses (knip.json). */
const unused = () => run('node_modules/knip/bin/knip.js', '--no-progress', '--no-config-hints')
const gen = (...args) => run('tooling/gen.ts', ...args)

/** The groups of tests (test-groups.ts) that `npm test` runs, and those with commands of their own. */
const FAST = ['unit', 'e2e', 'pages']
const SLOW = ['faults', 'tours']
const takesValue = /^--?(?:t|testNamePattern|reporter|outputFile|project|maxWorkers|exclude|bail)$/
/** Whether the arguments of vitest name a file; a folder and `-t words` do not. */
const namesFiles = args =>
  args.some(
    (arg, at) =>
      !arg.startsWith('-') &&
      !takesValue.test(args[at - 1] ?? '') &&
      !statSync(join(root, arg), { throwIfNoEntry: false })?.isDirectory(),
  )

/**
 * Runs groups of tests. Compiled modules are kept from process to process, so that workers start faster. A
 * whole suite tells the report its name, under which UPDATE_DURATIONS=1 records how long it took.
 */
async function test(groups, args, suite = '') {
  await ensureWebBuilt()
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'cairn-compile-cache')
  if (args.length === 0) process.env.CAIRN_SUITE = suite
  return run(vitest, 'run', ...groups.flatMap(group => ['--project', group]), ...args)
}

const commands = {
  async start(...args) {
    await ensureWebBuilt()
    return runCli('serve', ...args)
  },
  /** The unit tests, the end-to-end tests and the page tests. A file that is named runs in whatever group. */
  test: (...args) => test(namesFiles(args) ? [...FAST, ...SLOW] : FAST, args, 'test'),
  e2e: (...args) => test(namesFiles(args) ? ['e2e', 'pages', ...SLOW] : ['e2e', 'pages'], args),
  /** Deaths, clocks, disks and networks against real processes. CRASH_ROUNDS runs longer. */
  'test:faults': (...args) => test(['faults'], args, 'test:faults'),
  /** Long walks through the whole page, by keyboard, by a screen reader's tree and at random. */
  'test:tours': (...args) => test(['tours'], args, 'test:tours'),
  /** Every group, and every case of the tests that run a sample in `npm test`. */
  'test:all': (...args) => {
    process.env.CAIRN_TESTS = 'all'
    return test([...FAST, ...SLOW], args, 'test:all')
  },
  /** Every case of every CUDA kernel on the emulated card. `npm test` runs a sample. */
  'test:cuda': (...args) => {
    Object.assign(process.env, { CAIRN_TESTS: 'all', CAIRN_SUITE: args.length === 0 ? 'test:cuda' : '' })
    const tests = ['program', 'native', 'train'].map(name => `tune/${name}/test/cuda-`)
    return run(vitest, 'run', '--project', 'unit', 'dev/emulator/test/', ...tests, ...args)
  },
  /** Removes one protection at a time and expects a test to fail: `-- words` for some, `-- --record`. */
  mutants: (...args) => run('tooling/mutants/run.ts', ...args),
  check: () =>
    runAll({
      typecheck,
      lint,
      'format --check': () => format('--check'),
      unused,
      unit: () => run(vitest, 'run', '--project', 'unit'),
      'gen --check': () => gen('--check'),
    }),
  gen,
  /** Every text of the page and of both command lines, by area: `-- AREA…` for some. */
  engines: () => run('tooling/suite/compile-engines.ts'),
  words: (...args) => run('tooling/list-words.ts', ...args),
  async 'build:web'() {
    await ensureWebBuilt({ force: true })
    return 0
  },
  tune: (...args) => runHere(tuneCli, args),
  /** Every attack suite at its full length, then the table of what was tried. `npm test` runs a sample. */
  async security(...args) {
    await ensureWebBuilt()
    const folder = mkdtempSync(join(tmpdir(), 'cairn-attacks-'))
    const tally = join(folder, 'tally.jsonl')
    writeFileSync(tally, '')
    Object.assign(process.env, { ATTACKS: 'full', ATTACK_TALLY: tally })
    const tests = await run(vitest, 'run', '/security/', ...args)
    const clean = printAttackTable(tally)
    rmSync(folder, { recursive: true })
    return tests || (clean ? 0 : 1)
  },
  // The suite of the log on the embedded store and on Postgres. A server is cairn's own command: cairn
  // conformance URL.
  conformance: (...args) =>
    run(
      vitest,
      'run',
      '--project',
      'unit',
      'agent/log/test/sqlite.test.ts',
      'agent/log/test/postgres.test.ts',
      ...args,
    ),
  /** The programs of dev/, which no product needs: `-- NAME`. */
  dev(what, ...args) {
    const programs = devCommands({
      run,
      runHere,
      runCli,
      test: (...words) => run(vitest, 'run', ...words),
      serviceFlags,
    })
    if (what === undefined) {
      console.log(`npm run dev -- NAME, one of:\n  ${Object.keys(programs).join('\n  ')}`)
      return 0
    }
    if (!Object.hasOwn(programs, what))
      throw new Error(`Unknown program "${what}". There are: ${Object.keys(programs).join(', ')}`)
    return programs[what](...args)
  },
  typecheck,
  lint,
  unused,
  /** Formats all code in place; `-- --check` only looks. */
  format: (...args) => (args.includes('--check') ? format(...args) : format('--write', ...args)),
  /** Builds what is published into out/: `-- --only npm` a part. */
  async release(...args) {
    await ensureWebBuilt()
    return run('tooling/release/run.ts', ...args)
  },
  /** Builds everything that is published and tries it as a user does: `-- WORD` for some checks. */
  async 'release:check'(...args) {
    await ensureWebBuilt()
    return run('tooling/release/check.ts', ...args)
  },
  /** Upgrades an earlier program to this tree and back, under load: `-- --from COMMIT`. */
  async 'rehearse:upgrade'(...args) {
    await ensureWebBuilt()
    return run('dev/upgrade/rehearse.ts', ...args)
  },
  /** Builds the site of docs/ into out/site: `-- --serve` shows it, `-- --run-blocks` runs its commands. */
  async site(...args) {
    if (args.includes('--run-blocks')) await ensureWebBuilt()
    return run('tooling/site/run.ts', ...args)
  },
  /** Writes the version of a release to every file that contains it. */
  version: version => run('tooling/release/set-version.ts', version ?? ''),
  clean() {
    for (const path of ['out', 'agent/web/dist', 'coverage', 'node_modules/.cache', 'node_modules/.vite']) {
      rmSync(join(root, path), { recursive: true, force: true })
    }
    return 0
  },
}

// npm takes the `--` before a script's arguments away; whoever runs this file directly may write it too.
// Behind it vitest would read no file names, and run every test there is.
const [name, ...given] = process.argv.slice(2)
const args = given[0] === '--' ? given.slice(1) : given
try {
  if (!Object.hasOwn(commands, name ?? '')) {
    throw new Error(`Unknown command "${name ?? ''}". There are: ${Object.keys(commands).join(', ')}`)
  }
  if (name !== 'clean') await ensureInstalled()
  process.exitCode = await commands[name](...args)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
