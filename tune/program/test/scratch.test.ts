/** The estimate of scratch memory before a run equals what the kernels allocate. */
import { expect, test } from 'vitest'
import { createEngine, loadAddon } from '@cairn-tune/native'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { createRecorder, prepare, scratchBytes } from '@cairn-tune/program'
import { CASES } from './cases.ts'
import { runNative } from './one-op.ts'
import { recordToy } from './toy.ts'

// Not in a test: a fresh clone compiles the kernels first, which takes longer than the test timeout.
await loadAddon()

/**
 * The scratch of these ops depends on their data, such as where documents end: the estimate is the worst
 * case.
 */
const needsData = [
  'attention',
  'attention_grad',
  'paged_attention',
  'paged_write',
  'gather_rows',
  'lora_delta',
  'expert_matmul_nt',
  'expert_matmul_nn',
  'expert_matmul_tn',
  'sample',
  'token_logps',
  'token_logps_grad',
]

/** Promise T7: A kernel's scratch memory is known before a run, so the memory estimate includes it. */
test('on one thread every op takes the estimated bytes', async () => {
  for (const one of everyNth(4, CASES)) {
    using engine = await createEngine({ threads: 1 })
    const g = createRecorder()
    const given = Object.fromEntries(
      Object.entries(one.inputs).map(([name, value]) => [
        name,
        value && g.input(name, value.dtype, value.shape),
      ]),
    )
    const foretold = scratchBytes(engine, g.finish(g.step(one.op, given, one.attrs)))
    await runNative(engine, one.op, one.inputs, one.attrs)
    const taken = engine.scratchBytes()
    expect(taken, `${one.op} ${one.name}`).toBeLessThanOrEqual(foretold)
    if (!needsData.includes(one.op)) expect(foretold, `${one.op} ${one.dtype} ${one.name}`).toBe(taken)
  }
})

test('more threads need more scratch, and a prepared program includes it', async () => {
  const { program } = recordToy('f32')
  using alone = await createEngine({ threads: 1 })
  using several = await createEngine({ threads: 4 })
  expect(scratchBytes(several, program)).toBeGreaterThan(scratchBytes(alone, program))
  expect(prepare(alone, program).scratchBytes).toBe(scratchBytes(alone, program))
})
