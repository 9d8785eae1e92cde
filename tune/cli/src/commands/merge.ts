import { mergeAdapter } from '@cairn-tune/train'
import { adapterBase, resolveRepo } from '@cairn-tune/weights'
import { defineCommand } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

export const merge = defineCommand({
  name: 'merge',
  summary: 'Merge an adapter into its base and write a model directory',
  usage: [
    [
      'merge --adapter DIR --output DIR',
      'write base weights plus (alpha / rank)·B·A, in the dtype of the base',
    ],
    ['  --base MODEL', 'base model; default: the base that the adapter names'],
  ],
  options: { adapter: { type: 'string' }, output: { type: 'string' }, base: { type: 'string' } },
  async run({ values: { adapter, output, base, json }, positionals }, io) {
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`)
    if (adapter === undefined || output === undefined)
      throw new UsageError(`merge needs --${adapter === undefined ? 'adapter' : 'output'}`)
    const name = base ?? adapterBase(adapter)
    if (name === '') throw new UsageError(`${adapter} does not name its base model; give it with --base`)
    const directory = await resolveRepo('model', name, { env: io.env, signal: io.signal })
    await mergeAdapter({ base: directory, adapter, output })
    io.out(json ? `${JSON.stringify({ output, base: directory })}\n` : `${output}\n`)
    return EXIT.ok.code
  },
})
