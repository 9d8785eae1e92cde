/**
 * Writes a model's config and an adapter for judge_adapter.py, reads PEFT's, or merges: node make_adapter.ts
 * write|read|merge DIR
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseModelConfig, qwen3ConfigJson, readAdapter, writeAdapter } from '@cairn-tune/weights'
import { initAdapter } from '../../src/adapter-init.ts'
import { TARGET_MODULES } from '../../src/config.ts'
import { mergeAdapter } from '../../src/merge.ts'
import { createRandom } from '../../src/random.ts'

const [verb, directory = ''] = process.argv.slice(2)
const config = parseModelConfig('config.json', {
  model_type: 'qwen3',
  vocab_size: 64,
  hidden_size: 32,
  intermediate_size: 48,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  tie_word_embeddings: true,
  rope_theta: 1e6,
})
const {
  hidden_size: C,
  intermediate_size: F,
  num_attention_heads: H,
  num_key_value_heads: G,
  head_dim: D,
} = config
const sizes: Record<(typeof TARGET_MODULES)[number], [number, number]> = {
  q_proj: [H * D, C],
  k_proj: [G * D, C],
  v_proj: [G * D, C],
  o_proj: [C, H * D],
  gate_proj: [F, C],
  up_proj: [F, C],
  down_proj: [C, F],
}

if (verb === 'write') {
  await mkdir(join(directory, 'model'), { recursive: true })
  await writeFile(join(directory, 'model', 'config.json'), JSON.stringify(qwen3ConfigJson(config)))
  const rank = 4
  const matrices = Array.from({ length: config.num_hidden_layers }, (_, layer) =>
    TARGET_MODULES.flatMap(module => {
      const name = `model.layers.${layer}.${['q_proj', 'k_proj', 'v_proj', 'o_proj'].includes(module) ? 'self_attn' : 'mlp'}.${module}`
      const [n, k] = sizes[module]
      return [
        { name: `${name}.lora_A.weight`, shape: [rank, k] as const },
        { name: `${name}.lora_B.weight`, shape: [n, rank] as const },
      ]
    }),
  ).flat()
  const random = createRandom(3)
  const tensors = initAdapter(1, matrices).map(tensor =>
    tensor.name.includes('lora_B')
      ? { ...tensor, values: tensor.values.map(() => random.next() - 0.5) }
      : tensor,
  )
  await writeAdapter(
    join(directory, 'adapter'),
    {
      baseModel: 'tiny',
      lora_rank: rank,
      lora_alpha: 8,
      lora_dropout: 0,
      lora_target_modules: TARGET_MODULES,
    },
    tensors,
  )
  console.log(`wrote ${tensors.length} tensors`)
} else if (verb === 'merge') {
  await mergeAdapter({
    base: join(directory, 'base'),
    adapter: join(directory, 'adapter'),
    output: join(directory, 'merged'),
  })
} else {
  const { tensors, scale, lora_target_modules: modules } = await readAdapter(join(directory, 'peft'))
  console.log(`read ${tensors.length} tensors of PEFT, scale ${scale}, ${modules.join(' ')}`)
}
