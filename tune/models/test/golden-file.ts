/** Reads the golden tensors that reference/make_qwen3.py wrote. */
import { readFileSync } from 'node:fs'
import { decodeFloats } from '@cairn-tune/weights'
import { parseModelConfig, type LoraConfig, type ModelConfig } from '@cairn-tune/models'

export type Golden = {
  config: ModelConfig
  lora: LoraConfig
  /** Weight of the loss that keeps experts busy alike. */
  router_aux_loss_coef?: number
  /** What dropout draws from. */
  random?: number[]
  ids: number[]
  targets: number[]
  lengths: number[]
}

const file = (name: string) => readFileSync(new URL(`golden/${name}`, import.meta.url))

const qwen3 = JSON.parse(file('qwen3.json').toString()) as Omit<Golden, 'config'> & {
  config: object
}
export const golden: Golden = {
  ...qwen3,
  config: parseModelConfig('qwen3.json', { model_type: 'qwen3', ...qwen3.config }),
}

/**
 * A golden model of a family, as reference/make_families.py wrote it; `keys` are those of its config.json.
 */
export const readFamily = (name: string) => readGolden(`families/${name}.json`)

/** A gpt-oss of four layers with a window of so many keys, as reference/make_gpt_oss.py wrote it. */
export const readGptOss = (window: number) => readGolden(`gpt_oss/window_${window}.json`)

function readGolden(name: string): Golden & { keys: Record<string, unknown> } {
  const all = JSON.parse(file(name).toString()) as Omit<Golden, 'config'> & {
    config: Record<string, unknown>
  }
  return { ...all, keys: all.config, config: parseModelConfig(name, all.config) }
}

/** An adapter of a kind on the golden Qwen3, as reference/make_adapters.py wrote it. */
export const readAdapterGolden = (kind: string): Golden => ({
  ...readFamily('qwen3'),
  ...(JSON.parse(file(`adapters/${kind}.json`).toString()) as Pick<Golden, 'lora' | 'random'>),
})

/** Tensors of a safetensors file by name, in f32. */
export function readTensors(name: string): Map<string, Float32Array> {
  const bytes = file(name)
  const start = 8 + Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.toString('utf8', 8, start)) as Record<
    string,
    { dtype: 'F32' | 'BF16'; data_offsets: [number, number] }
  >
  return new Map(
    Object.entries(header)
      .filter(([key]) => key !== '__metadata__')
      .map(
        ([
          key,
          {
            dtype,
            data_offsets: [from, to],
          },
        ]) => [key, decodeFloats(dtype, Uint8Array.from(bytes.subarray(start + from, start + to)))],
      ),
  )
}
