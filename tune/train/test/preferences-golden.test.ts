/** Five steps on preferences against TRL 1.16 (reference/make_preferences.py). */
import { readFileSync } from 'node:fs'
import { afterAll, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import { planMemory, type Program } from '@cairn-tune/program'
import { golden, readTensors } from '@cairn-tune/models/test/golden-file'
import { configSchema, learningRateAt, type Document } from '@cairn-tune/train'
import { fillComparisons, type Comparison } from '../src/data/comparisons.ts'
import { mismatch } from '../src/data/tokenize-preferences.ts'
import { isPreference, type Preference } from '../src/methods.ts'
import { recordAnswers, recordMicroStep } from '../src/record-step.ts'
import { rewardMetrics } from '../src/rewards.ts'
import { createStepper } from '../src/stepper.ts'

const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

type Step = Record<string, number>
const { pairs, labels, runs, end } = JSON.parse(
  readFileSync(new URL('golden/preferences.json', import.meta.url), 'utf8'),
) as {
  pairs: { prompt: number[]; chosen: number[]; rejected: number[] }[]
  labels: boolean[]
  runs: Record<string, Step[]>
  end: number
}
const tensors = readTensors('qwen3.safetensors')

const sequence = (prompt: number[], answer: number[]): Document => ({
  tokens: Int32Array.of(...prompt, ...answer, end),
  isTrained: Uint8Array.from([...prompt, ...answer, end], (_, i) => Number(i >= prompt.length)),
})

function unitsOf(method: Preference, batch: number, maxLength: number): Comparison[] {
  if (method !== 'kto')
    return pairs.map(({ prompt, chosen, rejected }) => ({
      sequences: [sequence(prompt, chosen), sequence(prompt, rejected)],
      sign: 1,
      reference: new Float32Array(3),
    }))
  const rated = pairs.map(({ prompt, chosen }, i): Comparison => ({
    sequences: [sequence(prompt, chosen)],
    sign: labels[i] === true ? 1 : -1,
    reference: new Float32Array(2),
  }))
  return mismatch(rated, batch, maxLength)
}

const planned = (program: Program) => ({ program, plan: planMemory(program) })

async function runSteps(settings: object): Promise<Step[]> {
  const config = configSchema.parse({
    model: 'tiny',
    dataset: 'pairs',
    compute_dtype: 'f32',
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 2,
    max_seq_length: 32,
    packing: false,
    learning_rate: 0.01,
    lora_rank: golden.lora.lora_rank,
    lora_alpha: golden.lora.lora_alpha,
    ...settings,
  })
  const { method, per_device_train_batch_size: rows, max_seq_length: maxSeqLength } = config
  if (!isPreference(method)) throw new Error('examples are not compared')
  const units = unitsOf(method, rows, maxSeqLength)
  const boundaries = rows * 3 + 1
  const recording = { boundaries, plainDtype: () => 'f32' as const, logitRows: 512, copiesAdapters: false }
  const micro = recordMicroStep(golden.config, config, recording)
  const stepper = await createStepper({
    engine,
    config,
    model: golden.config,
    micro,
    planned: {
      ...planned(micro.program),
      evaluation: undefined,
      streamed: undefined,
      divided: undefined,
      reference: planned(recordAnswers(golden.config, config, 'base', recording)),
      scoring: planned(recordAnswers(golden.config, config, 'adapted', recording)),
    },
    tables: new Map(),
    base: new Map(micro.base.map(({ name }) => [name, engine.adopt(tensors.get(name)!)])),
    fill: ({ name }, buffer) => {
      const values = tensors.get(name)
      if (values) engine.write(buffer, values)
      return Promise.resolve()
    },
  })
  for (const unit of units) {
    const { sequences, mismatched } = unit
    unit.reference.set(
      await stepper.reference([...sequences, ...(mismatched ? [mismatched] : [])], undefined),
    )
  }
  const steps: Step[] = []
  for (let i = 0; i < 5; i++) {
    const learningRate = learningRateAt(i, { ...config, totalSteps: 5 })
    const window = [0, 1].map(b => {
      const own = units.slice(4 * i + 2 * b, 4 * i + 2 * b + 2)
      return fillComparisons(
        own.map(unit => [unit]),
        method,
        config,
        { maxSeqLength, padTokenId: 0 },
      )
    })
    const { loss, gradNorm, rewards } = await stepper.step(window, { number: i + 1, learningRate })
    steps.push({ loss, grad_norm: gradNorm, learning_rate: learningRate, ...rewardMetrics(rewards) })
  }
  return steps
}

/** Five significant digits, or five decimal places near zero. */
function expectEqual(actual: Step, expected: Step, keys: Readonly<Record<string, string>>): void {
  for (const [ours, theirs] of Object.entries(keys)) {
    const [a, b] = [actual[ours] ?? NaN, expected[theirs] ?? NaN]
    expect(Math.abs(a - b), `${ours}: ${a}, not ${b}`).toBeLessThan(1e-5 * Math.max(1, Math.abs(b)))
  }
}

const LOSS = { loss: 'loss', grad_norm: 'grad_norm', learning_rate: 'learning_rate' }
const REWARDS = {
  rewards_chosen: 'rewards/chosen',
  rewards_rejected: 'rewards/rejected',
  rewards_margin: 'rewards/margins',
  rewards_accuracy: 'rewards/accuracies',
  logps_chosen: 'logps/chosen',
  logps_rejected: 'logps/rejected',
}

/** Promise T4.9: Five steps of dpo, kto and orpo have the losses, norms and rewards of TRL. */
test.each([
  ['dpo sigmoid', { method: 'dpo' }, { ...LOSS, ...REWARDS }],
  ['dpo hinge', { method: 'dpo', loss_type: 'hinge' }, { ...LOSS, ...REWARDS }],
  ['dpo ipo', { method: 'dpo', loss_type: 'ipo' }, { ...LOSS, ...REWARDS }],
  ['dpo robust', { method: 'dpo', loss_type: 'robust', label_smoothing: 0.1 }, { ...LOSS, ...REWARDS }],
  // TRL averages the rewards of rated answers per micro-batch, whose counts differ.
  ['kto', { method: 'kto', undesirable_weight: 1.5 }, { ...LOSS, kl: 'kl' }],
  ['orpo', { method: 'orpo' }, { ...LOSS, ...REWARDS }],
])('%s: losses, norms and rewards of five steps match TRL', async (name, settings, keys) => {
  const steps = await runSteps(settings)
  const expected = runs[name] ?? []
  expect(expected).toHaveLength(5)
  for (const [i, step] of steps.entries()) expectEqual(step, expected[i] ?? {}, keys)
})

test('another beta changes the loss', async () => {
  const [first] = await runSteps({ method: 'dpo', beta: 0.11 })
  expect(Math.abs(first!.loss! - runs['dpo sigmoid']![0]!.loss!)).toBeGreaterThan(1e-4)
})
