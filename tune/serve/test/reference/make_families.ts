/**
 * Small random models and an adapter of all projections of each, for interop_gguf.ts: node make_families.ts
 * DIRECTORY writes phi3, gemma3 and smollm3 there, each a directory with `model` and `adapter`. Norms are
 * random, so that a one too many or too few in them shows; Gemma's windows and SmolLM3's layers without
 * positions come into play in prompts of some tokens.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { FAMILIES } from '@cairn-tune/models'
import { writeModelFromConfig } from '@cairn-tune/train'
import { changeVectors, trainAdapter } from './small_models.ts'

const SIZES = {
  vocab_size: 320,
  hidden_size: 64,
  intermediate_size: 128,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  max_position_embeddings: 512,
  // Wide enough that answers wander.
  initializer_range: 0.15,
}
const MODELS = {
  phi3: { ...FAMILIES.phi3.defaults, ...SIZES, model_type: 'phi3' as const, num_hidden_layers: 3 },
  gemma3: {
    ...FAMILIES.gemma3_text.defaults,
    ...SIZES,
    model_type: 'gemma3_text' as const,
    num_hidden_layers: 7,
    query_pre_attn_scalar: 16,
    sliding_window: 8,
  },
  smollm3: { ...FAMILIES.smollm3.defaults, ...SIZES, model_type: 'smollm3' as const, num_hidden_layers: 5 },
}

const [directory] = process.argv.slice(2)
if (!directory) throw new Error('usage: make_families.ts DIRECTORY')
for (const [name, config] of Object.entries(MODELS)) {
  const at = (part: string) => join(directory, name, part)
  await writeModelFromConfig(at('plain'), config, 7)
  await changeVectors(at('plain'), at('model'), 7, (vector, random, stored) =>
    vector.endsWith('norm.weight') ? stored.map((value, i) => value + (random[i] ?? 0) / 2) : undefined,
  )
  await rm(at('plain'), { recursive: true })
  await trainAdapter(at('model'), at('adapter'), 'bf16')
}
