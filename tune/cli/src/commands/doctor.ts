import {
  addonOrigin,
  createEngine,
  findNvcc,
  listCards,
  listIsas,
  nvccCandidates,
  usesFp4,
  usesFp8,
  type Card,
} from '@cairn-tune/native'
import { VERSION, bytesText, memoryBudget } from '@cairn-tune/train'
import { hubCacheRoot } from '@cairn-tune/weights'
import { defineCommand, table, type CommandIo } from '../command.ts'
import { EXIT } from '../exit.ts'

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Check this machine: compiler, kernels, threads, memory and GPUs',
  usage: [['doctor', 'build the kernels if needed and measure one thread']],
  options: {},
  async run({ values }, io) {
    using engine = await createEngine({ log: io.note })
    const gigaflops = (arithmetic: 'f32' | 'bf16') =>
      `${(engine.peakFlops(arithmetic) / 1e9).toFixed(0)} GFLOP/s`
    const facts = {
      'cairn-tune': VERSION,
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      kernels: await addonOrigin(),
      'instruction sets': (await listIsas()).join(', '),
      used: engine.isa,
      threads: String(engine.threads),
      'f32, one thread': gigaflops('f32'),
      'bf16, one thread': gigaflops('bf16'),
      'memory left': bytesText(memoryBudget(undefined)),
      'hub cache': hubCacheRoot(io.env),
      ...(await cardFacts(io)),
    }
    io.out(values.json ? `${JSON.stringify(facts)}\n` : table(Object.entries(facts)))
    return EXIT.ok.code
  },
})

/** One line per card, and the compiler of its kernels. */
async function cardFacts(io: Pick<CommandIo, 'env' | 'note'>): Promise<Record<string, string>> {
  const nvcc = findNvcc(nvccCandidates(io.env))
  const compiler = nvcc ? `${nvcc.version}, ${nvcc.command}` : 'not found'
  try {
    const cards = await listCards(io.note)
    const lines = cards.flatMap((card, i) => [
      [`cuda:${i}`, cardText(card)],
      [`cuda:${i}, products`, productsText(card, { fp8: usesFp8(io.env), fp4: usesFp4(io.env) })],
    ])
    const version = cards[0]?.driverVersion ?? 0
    return {
      'CUDA driver': `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`,
      ...Object.fromEntries(lines),
      nvcc: compiler,
    }
  } catch (error) {
    return { cards: error instanceof Error ? error.message : String(error), nvcc: compiler }
  }
}

const cardText = ({ name, capability, processors, memoryBytes, isEmulated }: Card): string =>
  `${name}, compute capability ${Math.floor(capability / 10)}.${capability % 10}, ` +
  `${processors} multiprocessors, ${bytesText(memoryBytes)}` +
  (isEmulated ? ', emulated (no speed)' : '')

/** The formats in which a card multiplies, and what the other arithmetics cost on it. */
export function productsText(
  { multipliesFp8, multipliesFp4 }: Pick<Card, 'multipliesFp8' | 'multipliesFp4'>,
  allowed: { fp8: boolean; fp4: boolean },
): string {
  const [formats, costs] = [['bf16'], ['']]
  if (multipliesFp8 && allowed.fp8) formats.push('fp8 with an fp8 base')
  else costs.push('fp8-hybrid: accuracy of FP8, speed of bf16')
  if (multipliesFp4 && allowed.fp4) formats.push('fp4 forward with an nvfp4 base')
  else costs.push('nvfp4: accuracy of NVFP4, speed of bf16')
  return formats.join(', and ') + costs.join('; ')
}
