/**
 * A small random gpt-oss and an adapter of all its projections, for judge_gguf.ts: node make_gpt_oss.ts
 * DIRECTORY writes `model`, whose YaRN is rounded as llama.cpp's is, `unrounded`, as published models have
 * it, and `adapter`. Sinks and biases are random, and everything is wide enough that answers wander.
 */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FAMILIES } from '@cairn-tune/models'
import { createRandom, readConfig, train, writeModelOf } from '@cairn-tune/train'
import { encodeFloats, openCheckpoint, writeCheckpoint } from '@cairn-tune/weights'

const [directory] = process.argv.slice(2)
if (!directory) throw new Error('usage: make_gpt_oss.ts DIRECTORY')
const at = (name: string) => join(directory, name)
const rope = (truncate: boolean) => ({
  rope_type: 'yarn',
  factor: 4,
  beta_fast: 32,
  beta_slow: 1,
  truncate,
  original_max_position_embeddings: 1024,
})
await writeModelOf(
  at('plain'),
  {
    ...FAMILIES.gpt_oss.defaults,
    model_type: 'gpt_oss',
    vocab_size: 320,
    hidden_size: 128,
    intermediate_size: 96,
    num_hidden_layers: 4,
    head_dim: 64,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    num_local_experts: 12,
    num_experts_per_tok: 3,
    sliding_window: 16,
    rope_scaling: rope(true),
    initializer_range: 0.06,
    quantization_config: { quant_method: 'mxfp4' },
  },
  7,
)
await cp(at('plain'), at('model'), { recursive: true })
const plain = await openCheckpoint(at('plain'))
await writeCheckpoint(
  at('model'),
  [...plain.tensors.values()].map(({ name, dtype, shape }) => ({
    name,
    dtype,
    shape,
    bytes: async () => {
      const stored = await plain.read(name)
      if (shape.length !== 1 || name.endsWith('norm.weight')) return stored
      const { next } = createRandom(7, ...new TextEncoder().encode(name))
      return encodeFloats(
        'BF16',
        Float32Array.from({ length: shape[0] ?? 0 }, () => 2 * next() - 1),
      )
    },
  })),
)
await plain.close()
await cp(at('model'), at('unrounded'), { recursive: true })
const config = join(at('unrounded'), 'config.json')
const json = JSON.parse(await readFile(config, 'utf8')) as Record<string, unknown>
await writeFile(config, JSON.stringify({ ...json, rope_scaling: rope(false) }))
await writeFile(
  at('data.jsonl'),
  '{"text": "one and one is two, and two and two is four, and four and four is eight"}\n'.repeat(64),
)
const settings = {
  model: at('model'),
  dataset: at('data.jsonl'),
  output_dir: at('run'),
  recipe: 'qfp4',
  max_seq_length: 128,
  max_steps: 20,
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 1,
  learning_rate: 3e-3,
}
await train(readConfig({ flags: Object.entries(settings).map(([key, value]) => `--${key}=${value}`) }), {
  threads: 1,
})
await cp(join(at('run'), 'adapter'), at('adapter'), { recursive: true })
for (const name of ['plain', 'run', 'data.jsonl']) await rm(at(name), { recursive: true })
