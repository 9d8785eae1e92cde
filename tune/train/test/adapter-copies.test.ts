/**
 * bf16 copies of adapters, renewed after each update: the same bits as products that convert the adapters
 * themselves, on the processor and on the emulated card.
 */
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { findNvcc, nvccCandidates } from '@cairn-tune/native'
import { START } from '../src/data/batches.ts'
import { planRun } from '../src/estimate.ts'
import { prepareRun } from '../src/prepare-run.ts'
import { startStepper } from '../src/start-stepper.ts'
import { readState } from '../src/stepper.ts'
import { createBench, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
afterEach(() => vi.unstubAllEnvs())
const dataset = bench.writeTexts('texts', textsOf(32, 4))

type Settings = Parameters<typeof bench.config>[0]

/** The adapters after some steps, with or without copies, the losses, and the inputs of the micro-step. */
async function train(steps: number, copies: boolean, settings: Settings, isQueued = true) {
  const config = bench.config({ dataset, max_seq_length: 32, lora_rank: 8, weight_decay: 0.1, ...settings })
  await using run = await prepareRun(config, {})
  const { runQueue } = run.engine
  const engine = { ...run.engine, convertsInLaunches: copies, runQueue: isQueued ? runQueue : undefined }
  const planned = planRun({
    engine,
    checkpoint: run.checkpoint,
    model: run.model,
    config: run.config,
    boundaries: run.batches.maxBoundaries,
    budgetBytes: Infinity,
    processBytes: () => 0,
  })
  const start = { found: undefined, initial: undefined }
  const stepper = await startStepper({ ...run, engine, planned }, run.config, start, {})
  const { batch } = run.batches.batchAt(START)
  const losses: number[] = []
  for (let step = 1; step <= steps; step++)
    losses.push((await stepper.step([batch, batch], { number: step, learningRate: 0.01 })).loss)
  const adapters = new Map<string, Buffer>()
  for (const { name } of planned.micro.trained)
    adapters.set(name, Buffer.from(await readState(engine, stepper.state, name)))
  const inputs = planned.program.tensors.flatMap(({ isInput, name }) => (isInput && name ? [name] : []))
  return { adapters, inputs, losses, memory: planned.memory, hasQueue: runQueue !== undefined }
}

async function compareBits(steps: number, settings: Settings): Promise<void> {
  const [plain, copied] = [await train(steps, false, settings), await train(steps, true, settings)]
  expect(copied.adapters.size).toBe(28)
  for (const [name, bytes] of copied.adapters) {
    expect(bytes.equals(plain.adapters.get(name) ?? Buffer.alloc(0)), name).toBe(true)
    expect([copied.inputs.includes(name), copied.inputs.includes(`bf16:${name}`)]).toEqual([false, true])
  }
  expect(copied.memory.trained).toBeGreaterThanOrEqual(1.5 * plain.memory.trained)
}

test.each([
  { recipe: 'bf16' },
  { recipe: 'qbnb' },
  { recipe: 'fp8', lora_dropout: 0.1 },
  { recipe: 'bf16', optimizer: 'adamw_8bit', lora_rank: 3 },
  { recipe: 'qfp8', lora_rank: 3 },
])(
  'on the processor with $recipe, $optimizer, rank $lora_rank',
  async settings => await compareBits(3, settings),
)

test('without bf16 arithmetic there are no copies', async () => {
  const { inputs } = await train(1, true, { compute_dtype: 'f32' })
  expect(inputs.filter(name => name.startsWith('bf16:'))).toEqual([])
})

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', () => {
    beforeEach(async () => {
      await stubEmulator({ CAIRN_EMULATOR_STREAMS: 'late' })
    })

    test('in bf16', async () => {
      await compareBits(2, { recipe: 'bf16', device: 'cuda' })
    }, 600_000)

    test('with one wait for all micro-batches of a step, and with a wait for each', async () => {
      const settings = { recipe: 'bf16', device: 'cuda', lora_dropout: 0.1 } as const
      const [queued, alone] = [await train(2, true, settings), await train(2, true, settings, false)]
      expect(queued.hasQueue).toBe(true)
      expect(queued.losses).toEqual(alone.losses)
      for (const [name, bytes] of queued.adapters)
        expect(bytes.equals(alone.adapters.get(name) ?? Buffer.alloc(0)), name).toBe(true)
    }, 600_000)
  })
}
