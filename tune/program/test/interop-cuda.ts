/**
 * Tests the ops of the CUDA engine on the card at hand (`npm run dev -- interop:cuda`): every case of every
 * op that has a launcher against the oracle, with the tolerances of the CPU's test; stored weights and states
 * byte for byte against the CPU. Prints a table; the exit code says whether all of it holds. Argument: an op
 * to try alone.
 */
import { createCudaEngine, createEngine, listCardOps } from '@cairn-tune/native'
import { OP_NAMES, type OpName } from '@cairn-tune/ops'
import { BYTE_CASES, countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

type Row = { cases: number; wrong: number; worst: number; first: string }
const fresh = (): Row => ({ cases: 0, wrong: 0, worst: 0, first: '' })

const only = process.argv[2]
const started = performance.now()
const log = (line: string) => console.log(line)
const [onCard, onProcessor] = await Promise.all([createCudaEngine({ log }), createEngine({ log })])
using card = onCard
using cpu = onProcessor
console.log(`${card.isa}; beside it ${cpu.isa}, ${cpu.threads} threads`)
const canRun = new Set<OpName>(await listCardOps())

async function compareOps(): Promise<boolean> {
  const rows = new Map<OpName, Row>()
  const note = (op: OpName, name: string, error: number, allowed: number, why = '') => {
    const row = rows.get(op) ?? fresh()
    rows.set(op, row)
    row.cases++
    if (!Number.isNaN(error)) row.worst = Math.max(row.worst, error)
    if (error <= allowed) return
    row.wrong++
    if (row.first === '') row.first = why || `${name}: ${error.toExponential(1)}`
  }
  for (const { op, name, inputs, attrs, dtype } of CASES) {
    if (!canRun.has(op) || (only !== undefined && op !== only)) continue
    try {
      const outputs = await runNative(card, op, inputs, attrs)
      const expected = runOracle(op, inputs, attrs)
      for (const [key, output] of Object.entries(outputs))
        note(
          op,
          `${dtype} ${name} ${key}`,
          relativeError(output.numbers, expected[key] ?? []),
          TOLERANCE[dtype] ?? 0,
        )
    } catch (error) {
      note(op, name, NaN, 0, `${dtype} ${name}: ${String(error)}`)
    }
  }
  for (const { op, name, inputs, attrs } of BYTE_CASES) {
    if (!canRun.has(op) || (only !== undefined && op !== only)) continue
    try {
      const [own, other] = [await runNative(card, op, inputs, attrs), await runNative(cpu, op, inputs, attrs)]
      for (const [key, { bytes }] of Object.entries(own))
        note(op, `${name} ${key}, bytes`, countDifferent(bytes, other[key]?.bytes ?? new Uint8Array()), 0)
    } catch (error) {
      note(op, name, NaN, 0, `${name}: ${String(error)}`)
    }
  }
  console.log('| op | cases | wrong | worst error | first that is wrong |\n|---|---|---|---|---|')
  for (const [op, { cases, wrong, worst, first }] of rows)
    console.log(`| ${op} | ${cases} | ${wrong} | ${worst.toExponential(1)} | ${first} |`)
  console.log(`without a launcher: ${OP_NAMES.filter(op => !canRun.has(op)).join(', ') || 'none'}`)
  return [...rows.values()].every(({ wrong }) => wrong === 0)
}

const isRight = await compareOps()
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(`${isRight ? 'all of it holds' : 'NOT all of it holds'}, ${seconds} s`)
process.exitCode = isRight ? 0 : 1
