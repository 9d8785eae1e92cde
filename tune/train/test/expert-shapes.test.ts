/** Expert adapters of any rank, where an expert gets all tokens or none, or every token uses all experts. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { FAMILIES } from '@cairn-tune/models'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { mergeAdapter, writeModelFromConfig } from '@cairn-tune/train'
import { openCheckpoint, writeCheckpoint } from '@cairn-tune/weights'
import { copyCompanions } from '@cairn-tune/train/merge'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)

async function writeExperts(name: string, count: number, top: number): Promise<string> {
  const path = join(bench.directory, name)
  await writeModelFromConfig(
    path,
    {
      ...FAMILIES.qwen3_moe.defaults,
      model_type: 'qwen3_moe',
      vocab_size: 320,
      hidden_size: 64,
      intermediate_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      num_experts: count,
      num_experts_per_tok: top,
      moe_intermediate_size: 64,
      norm_topk_prob: true,
      initializer_range: 0.05,
    },
    1,
  )
  return path
}

/**
 * A model whose routers score all experts equally: ties go to the lower index, so all tokens go to the first.
 */
async function silenceRouters(from: string, to: string): Promise<string> {
  await mkdir(to)
  await copyCompanions(from, to)
  const checkpoint = await openCheckpoint(from)
  await writeCheckpoint(
    to,
    [...checkpoint.tensors.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype,
      shape,
      bytes: async () => {
        const bytes = await checkpoint.read(name)
        return name.endsWith('mlp.gate.weight') ? new Uint8Array(bytes.byteLength) : bytes
      },
    })),
  )
  await checkpoint.close()
  return to
}

const every = await writeExperts('every', 4, 4)
const many = await writeExperts('many', 64, 1)
const first = await silenceRouters(await writeExperts('alike', 4, 1), join(bench.directory, 'first'))

test.each(
  everyNth<[string, string, number]>(2, [
    ['every token has all experts', every, 1],
    ['every token has all experts', every, 64],
    ['most of 64 experts have no token', many, 3],
    ['most of 64 experts have no token', many, 64],
    ['the first expert has all tokens', first, 1],
    ['the first expert has all tokens', first, 64],
  ]),
)('%s (%s), rank %i: the merged model has the loss of the trained adapter', async (_name, model, rank) => {
  const settings = {
    model,
    // One micro-batch is the whole data set, so the loss of a step is that of the adapter after the previous
    // steps.
    dataset: bench.writeTexts('shapes', textsOf(24, 2)),
    max_seq_length: 24,
    per_device_train_batch_size: 2,
    gradient_accumulation_steps: 1,
    compute_dtype: 'f32',
    learning_rate: 5e-3,
    lr_scheduler_type: 'constant',
    lora_rank: rank,
    lora_alpha: rank,
    max_steps: 4,
    threads: 2,
  }
  const run = await bench.run(settings)
  const further = losses(await bench.run({ ...settings, max_steps: 5 }))
  const output = join(bench.directory, `merged-${rank}-${model.split('/').at(-1)}`)
  await mergeAdapter({ base: model, adapter: run.output, output })
  const [merged = NaN] = losses(await bench.run({ ...settings, model: output, max_steps: 1 }))
  const [before = NaN, , , , after = NaN] = further
  expect(further.slice(0, 4)).toEqual(losses(run))
  expect(before - after).toBeGreaterThan(0.1)
  // Merged weights are rounded to bf16.
  expect(Math.abs(merged - after)).toBeLessThan(0.03 * (before - after))
})
