/** The load balancing loss of experts against transformers' router_aux_loss_coef. */
import { afterAll, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import { readFamily, readTensors } from './golden-file.ts'
import { distance, openGolden } from './golden-model.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

test.each(['qwen3_moe', 'gpt_oss'])('%s: the loss and its gradients match transformers', async name => {
  const expected = readTensors(`balance/${name}.safetensors`)
  const run = (router_aux_loss_coef?: number) =>
    openGolden(
      engine,
      { ...readFamily(name), ...(router_aux_loss_coef === undefined ? {} : { router_aux_loss_coef }) },
      `families/${name}.safetensors`,
    ).run(false)
  const [with_, without] = [await run(0.3), await run()]
  expect(expected.size).toBeGreaterThan(5)
  for (const [key, values] of expected) {
    expect(distance(with_.get(key) ?? new Float32Array(), values), key).toBeLessThan(1e-5)
    if (key.includes('router') || key.includes('mlp.gate.'))
      expect(distance(without.get(key) ?? new Float32Array(), values), key).toBeGreaterThan(1e-3)
  }
})
