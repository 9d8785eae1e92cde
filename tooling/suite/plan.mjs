// Which suites `.ci/run` runs, and why. A suite is left out only when its last success on this machine is an
// ancestor of the commit and nothing that the suite depends on has changed since. In doubt everything runs.
// Plain JavaScript, because it runs on the system's Node before the packages are installed.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const under =
  (...folders) =>
  path =>
    folders.some(folder => path.startsWith(folder))

/**
 * The changes that a suite need not run for; tooling/imports.test.ts proves that the products share no code.
 * `tooling/` has no row: its tests always run.
 */
export const SUITES = {
  agent: { unaffected: under('tune/', 'docs/tune/', 'dev/', 'deploy/') },
  tune: {
    unaffected: path =>
      under('agent/', 'docs/', 'dev/', 'examples/', 'deploy/')(path) &&
      !under('docs/tune/', 'dev/emulator/')(path),
  },
  faults: {
    unaffected: path =>
      under('docs/', 'dev/', 'examples/', 'deploy/', 'agent/web/', 'tune/cli/', 'tune/serve/')(path) ||
      /^(agent|tune)\/[^/]+\/(src|test)\/.*\.test\.tsx?$/.test(path),
  },
  tours: {
    unaffected: path =>
      under('tune/', 'docs/', 'dev/', 'examples/', 'deploy/')(path) ||
      /^agent\/[^/]+\/(src|test)\/.*\.test\.tsx?$/.test(path),
  },
  cuda: {
    unaffected: path =>
      under('agent/', 'docs/', 'examples/', 'deploy/')(path) ||
      (under('tune/', 'dev/')(path) &&
        !under(
          'tune/native/cuda/',
          'tune/native/device/',
          'tune/native/core/',
          'dev/emulator/',
          'tune/program/',
          'tune/ops/',
          'tune/train/',
        )(path)),
  },
}

/**
 * For each suite whether to run it, and the reason in words.
 * @param {Record<string, string>} passed the commit of each suite's last success
 * @param {(commit: string) => string[] | null} changedSince paths that differ from that commit; null where it
 *   is unknown, or no ancestor
 */
export function planSuites(passed, changedSince) {
  return Object.entries(SUITES).map(([suite, { unaffected }]) => {
    const commit = passed[suite]
    if (commit === undefined) return { suite, run: true, why: 'no earlier success is known on this machine' }
    const changed = changedSince(commit)
    if (changed === null) return { suite, run: true, why: `${commit} is not an ancestor of this commit` }
    const cause = changed.find(path => !unaffected(path))
    if (cause !== undefined) return { suite, run: true, why: `${cause} changed since ${commit.slice(0, 8)}` }
    return {
      suite,
      run: false,
      why: `passed at ${commit.slice(0, 8)}, and nothing it depends on has changed`,
    }
  })
}

const record = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-ci/passed.json')
const root = fileURLToPath(new URL('../..', import.meta.url))
const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

const readRecord = () => (existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : {})

/** Null also where files are changed that no commit has. */
function changedSince(commit) {
  try {
    git('merge-base', '--is-ancestor', commit, 'HEAD')
    if (git('status', '--porcelain').trim() !== '') return null
    return git('diff', '--name-only', '--no-renames', commit, 'HEAD').split('\n').filter(Boolean)
  } catch {
    return null
  }
}

// `plan.mjs` explains on stderr and prints the suites to run; `plan.mjs passed` records a success.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'passed') {
    // A commit did not pass when files were tested that it does not have.
    if (git('status', '--porcelain').trim() !== '') process.exit(0)
    const head = git('rev-parse', 'HEAD').trim()
    mkdirSync(dirname(record), { recursive: true })
    writeFileSync(
      record,
      `${JSON.stringify(Object.fromEntries(Object.keys(SUITES).map(suite => [suite, head])))}\n`,
    )
  } else {
    const plan = planSuites(readRecord(), changedSince)
    console.error('tooling: runs, as in every commit')
    for (const { suite, run, why } of plan) console.error(`${suite}: ${run ? 'runs' : 'is left out'}: ${why}`)
    console.log(
      plan
        .filter(({ run }) => run)
        .map(({ suite }) => suite)
        .join(' '),
    )
  }
}
