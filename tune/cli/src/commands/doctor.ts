import { createEngine, listIsas } from '@cairn-tune/native'
import { VERSION, bytesText, memoryBudget } from '@cairn-tune/train'
import { hubCacheRoot } from '@cairn-tune/weights'
import { defineCommand, table } from '../command.ts'
import { EXIT } from '../exit.ts'

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'What this machine has for training: compiler, kernels, threads, memory',
  usage: [['doctor', 'builds the kernels where they are not built yet, and measures one thread']],
  options: {},
  async run({ values }, io) {
    using engine = await createEngine({ log: io.note })
    const gigaflops = (arithmetic: 'f32' | 'bf16') =>
      `${(engine.peakFlops(arithmetic) / 1e9).toFixed(0)} GFLOP/s`
    const facts = {
      'cairn-tune': VERSION,
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      'instruction sets': (await listIsas()).join(', '),
      used: engine.isa,
      threads: String(engine.threads),
      'f32, one thread': gigaflops('f32'),
      'bf16, one thread': gigaflops('bf16'),
      'memory left': bytesText(memoryBudget(undefined)),
      'hub cache': hubCacheRoot(io.env),
      gpu: 'none used: kernels run on the processor',
    }
    io.out(values.json ? `${JSON.stringify(facts)}\n` : table(Object.entries(facts)))
    return EXIT.ok.code
  },
})
