/**
 * Every kernel of every instruction set against the oracle, and the same bits for any number of threads. In
 * `npm test` each instruction set runs a different eighth of the cases.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OP_NAMES } from '@cairn-tune/ops'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { CASES, type Case } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

const isas = await listIsas()
const engines = new Map<string, Engine>()
beforeAll(async () => {
  for (const isa of isas) engines.set(isa, await createEngine({ isa, threads: 2 }))
  engines.set('alone', await createEngine({ threads: 1 }))
})
afterAll(() => engines.forEach(engine => engine.close()))
const engineOf = (name: string) => engines.get(name) ?? engines.get('alone')!

// The oracle of a large case takes longer than all kernels together.
const expected = new Map<Case, Record<string, Float64Array>>()
const oracleOf = (one: Case) => {
  const known = expected.get(one) ?? runOracle(one.op, one.inputs, one.attrs)
  expected.set(one, known)
  return known
}

/** Ops whose outputs are stored in few bits: storage.test.ts and adamw-8bit.test.ts compare bytes. */
const testedByTheBit = ['quantize', 'dequantize', 'adamw_8bit']

/** Promise T7: Every mixture-of-experts op gives the numbers of its definition in every storage format. */
test('every op has a case', () => {
  const tried = new Set(CASES.map(({ op }) => op))
  expect(OP_NAMES.filter(op => !tried.has(op) && !testedByTheBit.includes(op))).toEqual([])
})

describe.each(isas)('%s', isa => {
  test.each(
    everyNth(12, CASES, isas.indexOf(isa)).map(one => [`${one.op} ${one.dtype} ${one.name}`, one] as const),
  )('%s', async (_, one) => {
    const outputs = await runNative(engineOf(isa), one.op, one.inputs, one.attrs)
    for (const [name, output] of Object.entries(outputs)) {
      expect(relativeError(output.numbers, oracleOf(one)[name] ?? []), name).toBeLessThan(
        TOLERANCE[one.dtype] ?? 0,
      )
    }
  })
})

test('several threads give the same bits as one', async () => {
  const fastest = isas.at(-1) ?? ''
  for (const one of everyNth(12, CASES)) {
    const [many, alone] = [
      await runNative(engineOf(fastest), one.op, one.inputs, one.attrs),
      await runNative(engineOf('alone'), one.op, one.inputs, one.attrs),
    ]
    for (const [name, { bytes }] of Object.entries(alone))
      expect(
        Buffer.compare(many[name]?.bytes ?? new Uint8Array(), bytes),
        `${one.op} ${one.name} ${name}`,
      ).toBe(0)
  }
})
