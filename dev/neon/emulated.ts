/**
 * Runs inside the emulated processor: the kernel tests, or the files given as arguments. Prints the counts
 * and the worst errors.
 */
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { loadAddon } from '@cairn-tune/native'
import { runFile, type TestResult } from './vitest.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cases = 'tune/program/test/kernels.test.ts'
const others = [
  'native/test/codecs',
  ...['storage', 'rows-alone', 'rounding', 'adamw-8bit', 'scratch'].map(name => `program/test/${name}`),
].map(path => `tune/${path}.test.ts`)

const vitestStandIn = new URL('vitest.ts', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vitest' ? { url: vitestStandIn, shortCircuit: true } : next(specifier, context),
})

const named = process.argv.slice(2)
const isas = (await loadAddon(console.log)).isas()
console.log(`${process.arch}, kernels for ${isas.join(', ')}, Node ${process.version}`)

const failures: TestResult[] = []
let tried: TestResult[] = []
for (const path of named.length > 0 ? named : [cases, ...others]) {
  const start = performance.now()
  const outcomes = await runFile(pathToFileURL(join(root, path)).href, outcome => {
    if (outcome.failure === undefined) return
    failures.push(outcome)
    console.log(
      `failed: ${path} > ${outcome.name}\n    ` +
        `${outcome.failure instanceof Error ? outcome.failure.message : String(outcome.failure)}`,
    )
  })
  const passed = outcomes.filter(({ failure }) => failure === undefined).length
  console.log(
    `${path}: ${passed} of ${outcomes.length} tests passed, ` +
      `${Math.round((performance.now() - start) / 1000)} s`,
  )
  if (path === cases) tried = outcomes
}

if (tried.length > 0) {
  // Imported here because its forward passes take a while in an emulator.
  const { CASES } = await import('@cairn-tune/program/test/cases')
  console.log(`${CASES.length} cases of ${new Set(CASES.map(({ op }) => op)).size} ops`)
  const worst = new Map<string, { name: string; error: number }>()
  for (const { op, dtype, name } of CASES) {
    const label = `${op} ${dtype} ${name}`
    const errors = tried
      .filter(outcome => outcome.name.endsWith(`> ${label}`))
      .flatMap(outcome => outcome.errors)
    const error = Math.max(0, ...errors)
    // A NaN is worse than any number.
    if (!(error <= (worst.get(dtype)?.error ?? -1))) worst.set(dtype, { name: label, error })
  }
  for (const [dtype, { name, error }] of worst)
    console.log(`worst error of ${dtype}: ${error.toExponential(2)} (${name})`)
}
console.log(failures.length === 0 ? 'All passed.' : `${failures.length} failed.`)
process.exitCode = failures.length === 0 ? 0 : 1
