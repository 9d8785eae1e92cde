/**
 * A step of dpo compared with sft steps of the same tokens, alternately in one process: wall-clock seconds
 * and the threads' processor seconds, the minimum over all steps, and peak memory as planned. A step of dpo
 * has the chosen and the rejected sequences that two sft steps would have. Arguments: shape (small), threads
 * (1), steps per turn (3), turns (2).
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHAPES, configSchema, train, writeNewModel, type ShapeName } from '@cairn-tune/train'

const [shapeName = 'small', threads = '1', steps = '3', turns = '2'] = process.argv.slice(2)
if (!Object.hasOwn(SHAPES, shapeName)) throw new Error(`there is no shape ${shapeName}`)
const directory = mkdtempSync(join(tmpdir(), 'cairn-preference-step-'))
const model = join(directory, 'model')
await writeNewModel(model, shapeName as ShapeName, 1)

/** A token is a byte: prompts of 90 and answers of 60, so that a row of 1024 holds three pairs. */
const text = (seed: number, length: number) =>
  Array.from({ length }, (_, i) =>
    String.fromCharCode(97 + ((seed * 31 + i * 7 + ((i * seed) % 11)) % 26)),
  ).join('')
const pairs = Array.from({ length: 48 }, (_, i) => ({
  prompt: text(i, 90),
  chosen: text(i + 100, 60),
  rejected: text(i + 200, 60),
}))
const write = (name: string, rows: readonly object[]) => {
  const path = join(directory, name)
  writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  return path
}
const data = {
  dpo: write('pairs.jsonl', pairs),
  sft: write(
    'rows.jsonl',
    pairs.flatMap(({ prompt, chosen, rejected }) => [
      { prompt, completion: chosen },
      { prompt, completion: rejected },
    ]),
  ),
}

type Best = { wall: number; processor: number; memory: number; tokens: number }
const best: Record<'dpo' | 'sft', Best> = {
  dpo: { wall: Infinity, processor: Infinity, memory: 0, tokens: 0 },
  sft: { wall: Infinity, processor: Infinity, memory: 0, tokens: 0 },
}
let run = 0
for (let turn = 0; turn < Number(turns); turn++) {
  for (const method of ['sft', 'dpo'] as const) {
    const config = configSchema.parse({
      model,
      method,
      dataset: data[method],
      output_dir: join(directory, `run-${run++}`),
      max_seq_length: 1024,
      per_device_train_batch_size: 2,
      gradient_accumulation_steps: 1,
      max_steps: Number(steps) + 1,
      threads: Number(threads),
    })
    let used = process.cpuUsage()
    const { memory } = await train(config, {
      onStep({ step, seconds, real_tokens: tokens }) {
        const { user, system } = process.cpuUsage(used)
        used = process.cpuUsage()
        // The first step allocates memory.
        if (step === 1) return
        const own = best[method]
        own.wall = Math.min(own.wall, seconds / tokens)
        own.processor = Math.min(own.processor, (user + system) / 1e6 / tokens)
        own.tokens = tokens
      },
    })
    best[method].memory = memory.total
  }
}
rmSync(directory, { recursive: true })

console.log(
  `${shapeName}, ${threads} threads, least of ${turns} turns of ${steps} steps, microseconds a token`,
)
console.log('| | wall | processor | memory planned (MiB) | tokens of a step |\n|---|---|---|---|---|')
for (const [method, { wall, processor, memory, tokens }] of Object.entries(best))
  console.log(
    `| ${method} | ${(wall * 1e6).toFixed(1)} | ${(processor * 1e6).toFixed(1)} | ` +
      `${(memory / 2 ** 20).toFixed(0)} | ${tokens} |`,
  )
const ratio = (key: keyof Best) => (best.dpo[key] / best.sft[key]).toFixed(3)
console.log(`dpo / sft: wall ${ratio('wall')}, processor ${ratio('processor')}, memory ${ratio('memory')}`)
