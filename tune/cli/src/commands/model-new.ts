import { SHAPES, STORED_NVFP4, type ShapeName, writeNewModel } from '@cairn-tune/train'
import { defineCommand, takePositionals, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const names = Object.keys(SHAPES) as ShapeName[]

export const modelNew = defineCommand({
  name: 'model new',
  summary: 'Write a model with random weights and a byte tokenizer, for tests, planning and benchmarks',
  usage: [
    ['model new DIR', 'write a model directory that transformers can load too'],
    [`  --shape ${names.join('|')}`, 'default: tiny'],
    ['  --layers N', 'only the first N layers, with a proportionally smaller vocabulary; default: all'],
    ['  --stored nvfp4', 'format of the projections; default: bf16, or MXFP4 for gpt-oss'],
    ['  --seed N', 'seed of the weights; default: 1'],
  ],
  options: {
    shape: { type: 'string', default: 'tiny' },
    seed: { type: 'string' },
    layers: { type: 'string' },
    stored: { type: 'string' },
  },
  async run({ values: { shape, seed, layers, stored, json }, positionals }, io) {
    const [directory] = takePositionals(positionals, ['DIR'])
    const name = names.find(known => known === shape)
    if (!name) throw new UsageError(`--shape must be ${names.join(', ')}, got ${JSON.stringify(shape)}`)
    const maxLayers = SHAPES[name].num_hidden_layers
    const layerCount = wholeNumber('layers', layers)
    if (layerCount !== undefined && (layerCount < 1 || layerCount > maxLayers))
      throw new UsageError(`--layers must be from 1 to ${maxLayers} for ${name}, got ${layerCount}`)
    if (stored !== undefined && (stored !== 'nvfp4' || SHAPES[name].model_type === 'gpt_oss'))
      throw new UsageError(
        '--stored must be nvfp4 and is not available for gpt-oss, which is stored in MXFP4; ' +
          `got ${JSON.stringify(stored)}`,
      )
    const over = stored === undefined ? {} : STORED_NVFP4
    await writeNewModel(directory, name, wholeNumber('seed', seed) ?? 1, layerCount, over)
    io.out(json ? `${JSON.stringify({ directory, shape: name })}\n` : `${directory}\n`)
    return EXIT.ok.code
  },
})
