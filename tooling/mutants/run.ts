/**
 * `npm run mutants [-- words]`: applies each mutant (those whose name or path holds a word) to a copy of the
 * commit, runs the tests that it names, and expects them to fail. `-- --record` writes the results to
 * docs/data/mutants.json, and keeps those of the mutants that did not run. Fails when a mutant survives, or
 * when more than one in ten is caught by slow suites only.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Mutant, mutate, readMutants, testArguments } from './mutants.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const words = process.argv.slice(2).filter(word => word !== '--record')
const named = readMutants().filter(
  ({ name, path }) => words.length === 0 || words.some(word => name.includes(word) || path.includes(word)),
)
const features = existsSync('/proc/cpuinfo') ? readFileSync('/proc/cpuinfo', 'utf8').split(/\s+/) : []
const chosen = named.filter(({ feature }) => feature === undefined || features.includes(feature))
for (const { name, feature } of named)
  if (!chosen.some(each => each.name === name)) console.log(`SKIPPED   0 s  ${name} (no ${feature})`)

function must(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
  return stdout
}

type Run = { passed: boolean; failures: string[]; seconds: number }

/** Runs the tests of mutants in the copy. */
function runTests(copy: string, mutants: readonly Mutant[], suite: Mutant['suite']): Run {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const started = performance.now()
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['tooling/run.mjs', suite === 'fast' ? 'test' : `test:${suite}`, ...testArguments(mutants)],
    { cwd: copy, encoding: 'utf8', env: { ...process.env, CAIRN_TEST_REPORT: report }, maxBuffer: 2 ** 28 },
  )
  const seconds = (performance.now() - started) / 1000
  let results: { fullName: string; status: string }[]
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    results = testResults.flatMap(
      ({ assertionResults }: { assertionResults: typeof results }) => assertionResults,
    )
  } catch (error) {
    if (stderr.includes('The web UI did not build')) throw new Error(`[mutants] ${stderr}`, { cause: error })
    // The mutated code may not even load, or end the process: that is caught, too.
    if (status !== 0) return { passed: false, failures: ['the test process failed'], seconds }
    throw new Error(`[mutants] no report: ${stdout}${stderr}`, { cause: error })
  }
  if (!results.some(({ status }) => status === 'passed' || status === 'failed') && status === 0)
    throw new Error(`[mutants] no test has the title: ${mutants.map(({ name }) => name).join('; ')}`)
  const failures = results.filter(each => each.status === 'failed').map(each => each.fullName)
  if (status !== 0 && failures.length === 0) failures.push('a test file does not load')
  return { passed: status === 0, failures, seconds }
}

const commit = must('git', ['rev-parse', '--short', 'HEAD']).trim()
const copy = mkdtempSync(join(tmpdir(), 'cairn-mutants-'))
const survived: string[] = []
const slow: string[] = []
/** Without `seconds`, the mutant ran in a group with others, by hand. */
type Row = { name: string; suite: string; caught_by: string | null; seconds?: number; commit: string }
const rows: Row[] = []
const RECORD = join(root, 'docs/data/mutants.json')
try {
  must('git', ['worktree', 'add', '--detach', '--force', copy, 'HEAD'])
  // Hard links: packages are copied within a second, and their links lead to the copy's own sources.
  for (const folder of globSync(['node_modules', '{agent,tune}/*/node_modules'], { cwd: root }))
    must('cp', ['-al', folder, join(copy, folder)])
  // Without a mutant everything passes; otherwise a failure would prove nothing.
  for (const suite of ['fast', 'faults', 'cuda', 'tours'] as const) {
    const mutants = chosen.filter(each => each.suite === suite)
    if (mutants.length === 0) continue
    const { passed, failures } = runTests(copy, mutants, suite)
    if (!passed) throw new Error(`[mutants] these fail without any mutant: ${failures.join('; ')}`)
  }
  for (const mutant of chosen) {
    const path = join(copy, mutant.path)
    const source = readFileSync(path, 'utf8')
    writeFileSync(path, mutate(mutant, source))
    const { passed, failures, seconds } = runTests(copy, [mutant], mutant.suite)
    writeFileSync(path, source)
    console.log(`${passed ? 'SURVIVED' : 'caught  '} ${seconds.toFixed(0).padStart(4)} s  ${mutant.name}`)
    if (!passed) console.log(`                 by: ${failures[0]}`)
    if (passed) survived.push(mutant.name)
    else if (mutant.suite !== 'fast') slow.push(`${mutant.name} (test:${mutant.suite})`)
    rows.push({
      name: mutant.name,
      suite: mutant.suite,
      caught_by: failures[0] ?? null,
      seconds: Math.round(seconds),
      commit,
    })
  }
} finally {
  spawnSync('git', ['worktree', 'remove', '--force', copy], { cwd: root })
  rmSync(copy, { recursive: true, force: true })
}
console.log(`\n${chosen.length} mutants, ${survived.length} survived: ${survived.join('; ') || 'none'}`)
console.log(`Caught by slow suites only: ${slow.length}${slow.map(each => `\n  ${each}`).join('')}`)
if (process.argv.includes('--record')) {
  const known: { mutants: Row[] } = JSON.parse(readFileSync(RECORD, 'utf8'))
  const record = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}`,
    // In the order of mutants.json, without those that it no longer has.
    mutants: readMutants().flatMap(
      ({ name }) => [...rows, ...known.mutants].find(row => row.name === name) ?? [],
    ),
  }
  writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`)
}
// A part of the mutants says nothing about the share of the slow suites.
if (survived.length > 0 || (words.length === 0 && slow.length * 10 > chosen.length)) process.exitCode = 1
