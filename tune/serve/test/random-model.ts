/**
 * A small random Qwen3 and adapters for it, the same on every machine: large enough weights that its greedy
 * answers wander.
 */
import { writeFile } from 'node:fs/promises'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { configJsonText, partsOf } from '@cairn-tune/models'
import { configJsonOfShape, configOfShape, createRandom, type ShapeName } from '@cairn-tune/train'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import {
  encodeFloats,
  ofPattern,
  writeAdapter,
  writeCheckpoint,
  type AdapterTensor,
  type AdapterVector,
} from '@cairn-tune/weights'

const untied = { tie_word_embeddings: false }
const config = configOfShape('tiny', untied)

/** Even noise of a size that depends on what the weight is for. */
function noise(name: string, count: number, seed: number): Float32Array {
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  const isNorm = name.includes('norm')
  const size = name.includes('embed') || name.includes('lm_head') ? 0.5 : 0.25
  return Float32Array.from({ length: count }, () => (isNorm ? 0.5 + next() : size * (2 * next() - 1)))
}

/** Files that a test changes or adds, such as another chat template. */
export async function writeRandomModel(
  directory: string,
  seed = 1,
  files: Record<string, string> = {},
  dtype: 'BF16' | 'F32' = 'BF16',
): Promise<void> {
  await mkdir(directory, { recursive: true })
  await writeCheckpoint(
    directory,
    partsOf(config).weights.map(({ name, shape }) => ({
      name,
      dtype,
      shape,
      bytes: () =>
        encodeFloats(
          dtype,
          noise(
            name,
            shape.reduce((a, b) => a * b, 1),
            seed,
          ),
        ),
    })),
  )
  const all = {
    ...byteTokenizerFiles(),
    'config.json': configJsonText(configJsonOfShape('tiny', untied)),
    ...files,
  }
  for (const [name, text] of Object.entries(all)) await writeFile(join(directory, name), text)
}

export type RandomAdapter = {
  rank: number
  modules: readonly string[]
  seed: number
  shape?: ShapeName
  rank_pattern?: Record<string, number>
  alpha_pattern?: Record<string, number>
  use_dora?: boolean
}

/** Adapters of the golden file. */
export const ADAPTERS = {
  wide: {
    rank: 16,
    modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'],
    seed: 2,
  },
  narrow: { rank: 3, modules: ['q_proj', 'down_proj'], seed: 3 },
} as const satisfies Record<string, RandomAdapter>

export async function writeRandomAdapter(
  directory: string,
  { rank, modules, seed, shape, ...keys }: RandomAdapter,
): Promise<void> {
  const weights = partsOf(shape ? configOfShape(shape) : config).weights.filter(({ name }) =>
    modules.some(module => name.endsWith(`${module}.weight`)),
  )
  const tensors = weights.flatMap(({ name, shape: [outputs = 0, inputs = 0] }) => {
    const linear = name.slice(0, -'.weight'.length)
    const own = ofPattern(keys.rank_pattern, linear) ?? rank
    const lengths: AdapterVector = {
      name: `${linear}.lora_magnitude_vector`,
      shape: [outputs],
      values: noise(`${linear}.norm`, outputs, seed).map(value => value * 2),
    }
    const matrices = (
      [
        ['A', [own, inputs]],
        ['B', [outputs, own]],
      ] as const
    ).map(([side, sizes]): AdapterTensor => ({
      name: `${linear}.lora_${side}.weight`,
      shape: [...sizes] as [number, number],
      values: noise(`${linear}.${side}`, sizes[0] * sizes[1], seed),
    }))
    return [...matrices, ...(keys.use_dora ? [lengths] : [])]
  })
  await mkdir(directory, { recursive: true })
  await writeAdapter(
    directory,
    {
      baseModel: 'random',
      lora_rank: rank,
      lora_alpha: rank / 2,
      lora_dropout: 0,
      lora_target_modules: modules,
      ...keys,
    },
    tensors,
  )
}
