/** Rows of logits: chosen by the plan, recorded in checkpoints, and kept by a run that resumes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEngine, type Engine } from '@cairn-tune/native'
import { openMappedCheckpoint, type Checkpoint } from '@cairn-tune/weights'
import { readModelConfig, type ModelConfig } from '@cairn-tune/models'
import { planRun } from '../src/estimate.ts'
import { OutOfMemoryError } from '../src/errors.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
let engine: Engine
let checkpoint: Checkpoint
let model: ModelConfig
beforeAll(async () => {
  engine = await createEngine({ threads: 1 })
  checkpoint = await openMappedCheckpoint(bench.model)
  model = await readModelConfig(bench.model)
})
afterAll(async () => {
  await checkpoint.close()
  engine.close()
  bench.remove()
})

/** Plans a run of 2048 tokens on an engine that multiplies best with 2048 rows of logits. */
const plan = (given: { budgetBytes: number; logitRows?: number }) =>
  planRun({
    engine: { ...engine, logitRows: 2048 },
    checkpoint,
    model,
    config: bench.config({ dataset: 'none', max_seq_length: 2048, recompute: 'none' }),
    boundaries: 3,
    processBytes: () => 0,
    ...given,
  })

const rowsOf = ({ program }: ReturnType<typeof plan>) =>
  program.steps.find(({ op }) => op === 'head_loss')?.attrs['chunk']

test('the plan takes the rows of its engine, or 512 where only those fit', () => {
  const [few, many] = [plan({ budgetBytes: Infinity, logitRows: 512 }), plan({ budgetBytes: Infinity })]
  expect([rowsOf(few), rowsOf(many), few.logitRows, many.logitRows]).toEqual([512, 2048, 512, 2048])
  // bf16 logits of 1536 more rows.
  expect(many.memory.scratch - few.memory.scratch).toBeGreaterThanOrEqual(1536 * model.vocab_size * 2)
  expect(plan({ budgetBytes: many.memory.total }).logitRows).toBe(2048)
  expect(plan({ budgetBytes: many.memory.total - 1 }).logitRows).toBe(512)
  expect(() => plan({ budgetBytes: few.memory.total - 1 })).toThrow(OutOfMemoryError)
})

test('a run that resumes is refused rather than planned with other rows', () => {
  const { memory } = plan({ budgetBytes: Infinity })
  expect(() => plan({ budgetBytes: memory.total - 1, logitRows: 2048 })).toThrow(OutOfMemoryError)
})

test('a checkpoint names the rows, one without them has 512, and a run resumes with those', async () => {
  const settings = {
    dataset: bench.writeTexts('texts', textsOf(32, 8)),
    output_dir: join(bench.directory, 'resumed'),
    save_steps: 1,
    lr_scheduler_type: 'constant',
  }
  const whole = await bench.run({ ...settings, output_dir: join(bench.directory, 'whole'), max_steps: 3 })
  await bench.run({ ...settings, max_steps: 1 })
  const path = (step: number) => join(settings.output_dir, 'checkpoints', `step-0000000${step}`, 'state.json')
  const read = (step: number) =>
    JSON.parse(readFileSync(path(step), 'utf8')) as { settings: Record<string, unknown> }
  const change = (step: number, logitRows: number | undefined) => {
    const state = read(step)
    writeFileSync(
      path(step),
      JSON.stringify({ ...state, settings: { ...state.settings, logit_rows: logitRows } }),
    )
  }
  expect(read(1).settings['logit_rows']).toBe(512)

  change(1, undefined)
  await bench.run({ ...settings, resume: true, max_steps: 2 })
  expect(read(2).settings['logit_rows']).toBe(512)

  change(2, 1024)
  const resumed = await bench.run({ ...settings, resume: true, max_steps: 3 })
  expect(read(3).settings['logit_rows']).toBe(1024)
  expect(losses(resumed).at(-1)).toBe(losses(whole)[2])
})
