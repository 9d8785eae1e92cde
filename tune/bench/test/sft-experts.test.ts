/** Cells of models with experts: an unsupported recipe is `-`, a run that does not fit is `OOM`. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAddon } from '@cairn-tune/native'
import { FAMILIES } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { benchmarkSft, resultRow } from '../src/sft.ts'

let directory: string
const SIZES = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 64,
  num_hidden_layers: 2,
  head_dim: 16,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_experts_per_tok: 2,
  initializer_range: 0.05,
}

// A fresh clone compiles the kernels first, which takes longer than the hook timeout.
await loadAddon()
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-sft-experts-'))
  await writeModelFromConfig(
    join(directory, 'gpt-oss'),
    {
      ...FAMILIES.gpt_oss.defaults,
      ...SIZES,
      model_type: 'gpt_oss',
      num_local_experts: 4,
      quantization_config: { quant_method: 'mxfp4' },
    },
    1,
  )
  await writeModelFromConfig(
    join(directory, 'qwen3-moe'),
    {
      ...FAMILIES.qwen3_moe.defaults,
      ...SIZES,
      model_type: 'qwen3_moe',
      num_experts: 4,
      moe_intermediate_size: 32,
      norm_topk_prob: true,
    },
    1,
  )
})
afterAll(() => rm(directory, { recursive: true }))

const cell = async (
  model: string,
  recipe: 'bf16' | 'fp8' | 'qbnb' | 'qfp4',
  { memory, offload }: { memory?: string; offload?: string } = {},
) => {
  const { result } = await benchmarkSft({
    model: join(directory, model),
    recipe,
    outputDir: join(directory, `${model}-${recipe}`),
    dataset: 'problems:ro',
    samples: 8,
    maxSteps: 1,
    threads: 1,
    memory,
    offload,
  })
  if (!result) throw new Error('no result')
  return { status: result.outcome.status, row: resultRow(result) }
}

test.each(['bf16', 'fp8', 'qbnb'] as const)('gpt-oss does not support %s and prints a dash', async recipe => {
  const { status, row } = await cell('gpt-oss', recipe)
  expect(status).toBe('unsupported')
  expect(row).toMatch(/ {2}- {2}.*MXFP4/)
})

/** Promise T5.2: gpt-oss on another base is `-`, and a mixture of experts that does not fit is `OOM`. */
test.each(['gpt-oss', 'qwen3-moe'])(
  '%s: a run that does not fit is OOM by the estimate, before it starts',
  async model => {
    const { status, row } = await cell(model, 'qfp4', { memory: '100MiB' })
    expect(status).toBe('oom')
    expect(row).toMatch(/ {2}OOM {2}needs .* of 100 MiB/)
  },
)

test.each(['gpt-oss', 'qwen3-moe'])('%s: marks a run whose base was streamed from disk', async model => {
  const { status, row } = await cell(model, 'qfp4', { offload: 'disk' })
  expect(status).toBe('ok')
  expect(row).toMatch(/k tokens\/s streamed {2}\(p50/)
})
