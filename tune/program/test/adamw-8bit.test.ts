/**
 * AdamW with 8-bit states: bit-identical to the same arithmetic in TypeScript, and close to AdamW in f32 over
 * many steps.
 */
import { afterAll, expect, test } from 'vitest'
import { dequantize, quantize } from '@cairn-tune/ops'
import { createEngine, listIsas, type Engine } from '@cairn-tune/native'
import { noise, runNative, tensor, type Value } from './one-op.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engines: [string, Engine][] = []
for (const isa of await listIsas()) engines.push([isa, await createEngine({ isa, threads: 2 })])
afterAll(() => engines.forEach(([, engine]) => engine.close()))

const f = Math.fround
const [beta1, beta2, eps, weight_decay] = [f(0.9), f(0.999), f(1e-8), f(0.01)]
const [rate, factor] = [f(2e-3), f(0.3)]
const shape = [3001]

const state = (dtype: 'dynamic8' | 'dynamic8_unsigned', seed: number, size: number): Value => {
  const spread = noise('f32', shape, seed).numbers.map(
    (value, i) => (dtype === 'dynamic8' ? value : Math.abs(value)) * size * 10 ** -(i % 7),
  )
  return tensor(dtype, shape, spread)
}

test.each(engines)('%s: one step is bit-identical to the same arithmetic in f32', async (_, engine) => {
  const step = 7
  const [p, g, m, v] = [
    noise('f32', shape, 70),
    noise('f32', shape, 71),
    state('dynamic8', 72, 0.1),
    state('dynamic8_unsigned', 73, 0.01),
  ]
  const inputs = {
    p,
    g,
    m,
    v,
    factor: tensor('f32', [1], [factor]),
    schedule: tensor('f32', [2], [rate, step]),
  }
  const outputs = await runNative(engine, 'adamw_8bit', inputs, { beta1, beta2, eps, weight_decay })
  const [correct1, correct2] = [f(1 / (1 - beta1 ** step)), f(1 / (1 - beta2 ** step))]
  const keep = f(1 - f(rate * weight_decay))
  const [pNext, mNext, vNext] = [new Float32Array(3001), new Float32Array(3001), new Float32Array(3001)]
  for (let i = 0; i < 3001; i++) {
    const x = f(factor * g.numbers[i]!)
    mNext[i] = f(f(beta1 * m.numbers[i]!) + f(f(1 - beta1) * x))
    vNext[i] = f(f(beta2 * v.numbers[i]!) + f(f(f(1 - beta2) * x) * x))
    pNext[i] = f(
      f(keep * p.numbers[i]!) -
        f(f(rate * f(mNext[i]! * correct1)) / f(f(Math.sqrt(f(vNext[i]! * correct2))) + eps)),
    )
  }
  expect(Buffer.compare(outputs.m_next!.bytes, quantize(mNext, 'dynamic8', shape))).toBe(0)
  expect(Buffer.compare(outputs.v_next!.bytes, quantize(vNext, 'dynamic8_unsigned', shape))).toBe(0)
  expect(Float32Array.from(outputs.p_next!.numbers)).toEqual(pNext)
})

test('forty steps end within 3 % of the result with f32 states', async () => {
  const [, engine] = engines.at(-1)!
  const count = 512
  const target = noise('f32', [count], 80).numbers
  const start = noise('f32', [count], 81)
  const walk = async (op: 'adamw' | 'adamw_8bit') => {
    const zeros = new Float64Array(count)
    const is8 = op === 'adamw_8bit'
    let [p, m, v] = [
      start,
      tensor(is8 ? 'dynamic8' : 'f32', [count], zeros),
      tensor(is8 ? 'dynamic8_unsigned' : 'f32', [count], zeros),
    ]
    for (let i = 1; i <= 40; i++) {
      const g = tensor(
        'f32',
        [count],
        p.numbers.map((value, j) => value - target[j]!),
      )
      const inputs = { p, g, m, v, factor: tensor('f32', [1], [1]), schedule: tensor('f32', [2], [0.02, i]) }
      const next = await runNative(engine, op, inputs, { beta1, beta2, eps, weight_decay: 0 })
      ;[p, m, v] = [next.p_next!, next.m_next!, next.v_next!]
    }
    return dequantize(p.bytes, 'f32', [count])
  }
  const [plain, small] = [await walk('adamw'), await walk('adamw_8bit')]
  const way = plain.reduce((sum, value, i) => sum + Math.abs(value - start.numbers[i]!), 0)
  const apart = plain.reduce((sum, value, i) => sum + Math.abs(value - small[i]!), 0)
  expect(apart / way).toBeLessThan(0.03)
})
