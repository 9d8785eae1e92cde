import { SHAPES, STORED_NVFP4, type ShapeName, writeNewModel } from '@cairn-tune/train'
import { defineCommand, takePositionals, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const names = Object.keys(SHAPES) as ShapeName[]

export const modelNew = defineCommand({
  name: 'model new',
  summary: 'Write a model with random weights and a tokenizer of bytes, to test, plan and measure with',
  usage: [
    ['model new DIR', 'a directory that transformers loads as well'],
    [`  --shape ${names.join('|')}`, 'tiny unless given'],
    ['  --layers N', 'its first layers only, with a vocabulary as much smaller; all unless given'],
    ['  --stored nvfp4', 'its projections are stored so; bf16 unless given, and MXFP4 in gpt-oss'],
    ['  --seed N', '1 unless given'],
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
    const most = SHAPES[name].num_hidden_layers
    const kept = wholeNumber('layers', layers)
    if (kept !== undefined && (kept < 1 || kept > most))
      throw new UsageError(`--layers must be 1 to ${most} of ${name}, got ${kept}`)
    if (stored !== undefined && (stored !== 'nvfp4' || SHAPES[name].model_type === 'gpt_oss'))
      throw new UsageError(
        `--stored must be nvfp4, and not of gpt-oss, which is stored in MXFP4; got ${JSON.stringify(stored)}`,
      )
    const over = stored === undefined ? {} : STORED_NVFP4
    await writeNewModel(directory, name, wholeNumber('seed', seed) ?? 1, kept, over)
    io.out(json ? `${JSON.stringify({ directory, shape: name })}\n` : `${directory}\n`)
    return EXIT.ok.code
  },
})
