/**
 * A small random gpt-oss and an adapter of all its projections, for interop_gguf.ts: node make_gpt_oss.ts
 * DIRECTORY writes `model`, whose YaRN is rounded as llama.cpp's is, `unrounded`, as published models have
 * it, and `adapter`. Sinks and biases are random, and everything is wide enough that answers wander.
 */
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FAMILIES } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { changeVectors, trainAdapter } from './small_models.ts'

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
await writeModelFromConfig(
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
await changeVectors(at('plain'), at('model'), 7, (name, random) =>
  name.endsWith('norm.weight') ? undefined : random,
)
await cp(at('model'), at('unrounded'), { recursive: true })
const config = join(at('unrounded'), 'config.json')
const json = JSON.parse(await readFile(config, 'utf8')) as Record<string, unknown>
await writeFile(config, JSON.stringify({ ...json, rope_scaling: rope(false) }))
await trainAdapter(at('model'), at('adapter'), 'qfp4')
await rm(at('plain'), { recursive: true })
