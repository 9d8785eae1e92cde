/** gpt-oss with experts in MXFP4 equals gpt-oss with the decoded experts. */
import { afterAll, expect, test } from 'vitest'
import { dequantize, quantize } from '@cairn-tune/ops'
import { partsOf } from '@cairn-tune/models'
import { createEngine } from '@cairn-tune/native'
import { readFamily } from './golden-file.ts'
import { distance, openGolden } from './golden-model.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

test('losses and adapter gradients on MXFP4 equal those on the decoded weights within 1e-6', async () => {
  const golden = openGolden(engine, readFamily('gpt_oss'), 'families/gpt_oss.safetensors')
  const experts = partsOf(golden.config).weights.filter(
    ({ name, shape }) => shape.length === 3 && name.endsWith('.weight'),
  )
  // The golden weights are exact in MXFP4 already; these are not.
  for (const { name } of experts)
    golden.tensors.set(
      name,
      (golden.tensors.get(name) ?? new Float32Array()).map((x, i) => x * (1 + (i % 7) / 20)),
    )
  const untouched = await golden.run(true)
  for (const { name, shape } of experts) {
    const codes = quantize(golden.tensors.get(name) ?? new Float32Array(), 'mxfp4', shape)
    golden.tensors.set(name, dequantize(codes, 'mxfp4', shape))
  }
  const names = new Set(experts.map(({ name }) => name))
  const decoded = await golden.run(true)
  const stored = await golden.run(true, undefined, name => (names.has(name) ? 'mxfp4' : undefined))
  const apart = (other: typeof decoded) =>
    Math.max(...[...decoded].map(([name, values]) => distance(other.get(name) ?? new Float32Array(), values)))
  expect(names.size).toBe(4)
  expect(apart(stored)).toBeLessThan(1e-6)
  // The weights differ from the ones before, so the comparison would notice them.
  expect(apart(untouched)).toBeGreaterThan(1e-2)
})
