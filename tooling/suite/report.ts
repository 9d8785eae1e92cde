/**
 * What `npm test` prints beside the results: which sample was drawn, the slowest files, and whether the suite
 * kept its budget. UPDATE_DURATIONS=1 writes durations.json, by which longest-first.ts orders the files, and
 * the row of a whole suite in docs/data/suites.json.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { relative } from 'node:path'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { slowness } from './machine-speed.ts'
import { followProcesses, listProcesses, NO_WORK, ticksOf } from './own-work.ts'

/** On a machine as fast as the reference (machine-speed.ts). */
const SUITE_MAX_S = 600
const FILE_MAX_S = 60
/**
 * A run fails above this share of the budget. Samples differ, and the measure of a machine is rough: machines
 * that measured the same have differed by 15 %.
 */
const TOLERANCE = 1.25
const SHOWN = 20
/** Beside more than this share of other work, durations say nothing about the suite. */
const OTHER_WORK_MAX = 0.05
const POLL_MS = 1000

const durations = new URL('durations.json', import.meta.url)
const suites = new URL('../../docs/data/suites.json', import.meta.url)

export default class SuiteReport implements Reporter {
  #root = ''
  #started = 0
  #otherWork: OtherWork | undefined
  #slowness = 1

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root
    this.#started = performance.now()
    this.#slowness = slowness()
    this.#otherWork = new OtherWork()
    const which =
      process.env['CAIRN_TESTS'] === 'all' ? 'every case' : `sample ${process.env['CAIRN_SAMPLE']}`
    console.log(`Runs ${which}. CAIRN_SAMPLE=<number> repeats a sample, CAIRN_TESTS=all runs every case.`)
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules
      .map(module => ({
        path: relative(this.#root, module.moduleId),
        seconds: secondsOf(module),
        wasRetried: [...module.children.allTests()].some(each => (each.diagnostic()?.retryCount ?? 0) > 0),
      }))
      .toSorted((a, b) => b.seconds - a.seconds)
    const total = (performance.now() - this.#started) / 1000
    // Other guests of the host can slow this machine down between the start and the end.
    this.#slowness = Math.max(this.#slowness, slowness())
    const other = this.#otherWork?.end() ?? 0
    const everyCase = process.env['CAIRN_TESTS'] === 'all'
    if (process.env['UPDATE_DURATIONS'] === '1') {
      if (!everyCase) updateDurations(files)
      updateSuite(total, other, modules)
    }
    if (files.length <= SHOWN) return
    console.log(`\nThe ${SHOWN} slowest of ${files.length} files, in seconds:`)
    for (const { path, seconds } of files.slice(0, SHOWN))
      console.log(`${seconds.toFixed(1).padStart(7)}  ${path}`)
    const [suiteMax, fileMax] = [SUITE_MAX_S, FILE_MAX_S].map(max => Math.round(max * this.#slowness))
    // A test that ran twice also waited for its timeout. It is reported as flaky, not as long.
    const judged = files.filter(({ wasRetried }) => !wasRetried)
    const over = judged.filter(({ seconds }) => seconds > fileMax!).map(({ path }) => path)
    const isFarOver =
      total > TOLERANCE * suiteMax! || judged.some(({ seconds }) => seconds > TOLERANCE * fileMax!)
    const complaints = [
      ...(total > suiteMax! ? [`The suite took ${total.toFixed(0)} s: at most ${suiteMax} s.`] : []),
      ...over.map(path => `${path} took more than ${fileMax} s: split it, or leave cases to test:all.`),
    ]
    console.log(
      `The suite took ${total.toFixed(0)} s on ${availableParallelism()} processors, each ` +
        `${this.#slowness.toFixed(2)} times as slow as the reference.`,
    )
    console.log(`Other programs used ${(100 * other).toFixed(0)} % of the machine.`)
    if (complaints.length === 0 || everyCase) return
    console.log(complaints.join('\n'))
    if (other > OTHER_WORK_MAX) console.log('Other programs used the machine: the budget is not judged.')
    else if (process.env['CAIRN_BUDGET'] === 'strict' && isFarOver) {
      process.exitCode = 1
      // .ci/run repeats it beside the counts, where no test says why the suite failed.
      const report = process.env['CAIRN_TEST_REPORT']
      if (report !== undefined) writeFileSync(`${report}.over-budget`, `${complaints.join('\n')}\n`)
    }
  }
}

/** Seconds from the start of a file's worker to its last test. */
function secondsOf(module: TestModule): number {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } =
    module.diagnostic()
  return (environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration) / 1000
}

/** Files that did not run keep their duration; files that are gone lose it. */
function updateDurations(files: { path: string; seconds: number }[]): void {
  const known: Record<string, number> = JSON.parse(readFileSync(durations, 'utf8'))
  for (const { path, seconds } of files) known[path] = Number(seconds.toFixed(1))
  const sorted = Object.entries(known).toSorted(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync(durations, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

/** How long a whole suite took, with its counts and the machine. `npm test -- a-file` has no suite's name. */
function updateSuite(seconds: number, otherWork: number, modules: readonly TestModule[]): void {
  const suite = process.env['CAIRN_SUITE'] ?? ''
  if (suite === '') return
  const states = modules.flatMap(({ children }) => [...children.allTests()].map(test => test.result().state))
  const count = (wanted: string) => states.filter(state => state === wanted).length
  const known: Record<string, object> = existsSync(suites) ? JSON.parse(readFileSync(suites, 'utf8')) : {}
  const memory = Math.round(totalmem() / 2 ** 30)
  known[suite] = {
    date: new Date().toISOString().slice(0, 10),
    machine: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}, ${memory} GiB`,
    seconds: Math.round(seconds),
    other_work_percent: Math.round(100 * otherWork),
    files: modules.length,
    passed: count('passed'),
    failed: count('failed'),
  }
  mkdirSync(new URL('.', suites), { recursive: true })
  writeFileSync(suites, `${JSON.stringify(known, null, 2)}\n`)
}

type Times = { busy: number; all: number }

/** Processor time that the whole machine has used so far, in hundredths of a second; 0 without /proc. */
function machineTimes(): Times {
  let times: number[]
  try {
    times = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/ +/).slice(1).map(Number)
  } catch {
    return { busy: 0, all: 0 }
  }
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = times
  const busy = user + nice + system + irq + softirq + steal
  return { busy, all: busy + idle + wait }
}

/** The share of the machine that other programs used; 0 on a system without /proc. */
class OtherWork {
  #before = machineTimes()
  #work = NO_WORK
  #timer = setInterval(() => this.#poll(), POLL_MS).unref()

  #poll(): void {
    this.#work = followProcesses(this.#work, process.pid, listProcesses())
  }

  end(): number {
    clearInterval(this.#timer)
    this.#poll()
    const now = machineTimes()
    const all = now.all - this.#before.all
    const other = now.busy - this.#before.busy - ticksOf(this.#work)
    return all === 0 ? 0 : Math.max(0, other / all)
  }
}
