/** What the small random models of interop_gguf.ts are made with. */
import { cp, rm, writeFile } from 'node:fs/promises'
import { createRandom, readConfig, train } from '@cairn-tune/train'
import { decodeFloats, encodeFloats, openCheckpoint, writeCheckpoint } from '@cairn-tune/weights'

/** Numbers for a vector, even in ±1 and drawn by its name, and those that it has; undefined keeps it. */
type Change = (name: string, random: Float32Array, stored: Float32Array) => Float32Array | undefined

/** Writes a model's vectors anew: those of a new model are all ones or zeros, which would hide much. */
export async function changeVectors(from: string, to: string, seed: number, change: Change): Promise<void> {
  await cp(from, to, { recursive: true })
  const checkpoint = await openCheckpoint(from)
  await writeCheckpoint(
    to,
    [...checkpoint.tensors.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype,
      shape,
      bytes: async () => {
        const stored = await checkpoint.read(name)
        if (shape.length !== 1) return stored
        const { next } = createRandom(seed, ...new TextEncoder().encode(name))
        const random = Float32Array.from({ length: shape[0] ?? 0 }, () => 2 * next() - 1)
        const changed = change(name, random, decodeFloats('BF16', stored))
        return changed ? encodeFloats('BF16', changed) : stored
      },
    })),
  )
  await checkpoint.close()
}

/** Trains an adapter of all projections of a model for some steps, enough that its answers are others. */
export async function trainAdapter(model: string, to: string, recipe: string): Promise<void> {
  const [data, run] = [`${to}.jsonl`, `${to}.run`]
  await writeFile(
    data,
    '{"text": "one and one is two, and two and two is four, and four and four is eight"}\n'.repeat(64),
  )
  const settings = {
    model,
    dataset: data,
    output_dir: run,
    recipe,
    max_seq_length: 128,
    max_steps: 20,
    per_device_train_batch_size: 1,
    gradient_accumulation_steps: 1,
    learning_rate: 3e-3,
  }
  await train(readConfig({ flags: Object.entries(settings).map(([key, value]) => `--${key}=${value}`) }), {
    threads: 1,
  })
  await cp(`${run}/adapter`, to, { recursive: true })
  await rm(run, { recursive: true })
  await rm(data)
}
