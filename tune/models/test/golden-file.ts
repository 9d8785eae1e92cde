/** Reads the golden tensors that reference/make_qwen3.py wrote. */
import { readFileSync } from 'node:fs'
import { parseModelConfig, type LoraConfig, type ModelConfig } from '@cairn-tune/models'

export type Golden = {
  config: ModelConfig
  lora: LoraConfig
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

/** f32 tensors of a safetensors file by name. */
export function readTensors(name: string): Map<string, Float32Array> {
  const bytes = file(name)
  const start = 8 + Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.toString('utf8', 8, start)) as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >
  return new Map(
    Object.entries(header)
      .filter(([key]) => key !== '__metadata__')
      .map(
        ([
          key,
          {
            data_offsets: [from, to],
          },
        ]) => [key, new Float32Array(Uint8Array.from(bytes.subarray(start + from, start + to)).buffer)],
      ),
  )
}
