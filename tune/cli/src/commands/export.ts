import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { FAMILIES, FAMILY_NAMES, partsOf, readModelConfig } from '@cairn-tune/models'
import {
  GGUF_EXPORT_TYPES,
  UnsupportedError,
  adapterBase,
  exportGgufAdapter,
  exportGgufModel,
  resolveRepo,
  type ModelToExport,
} from '@cairn-tune/weights'
import { defineCommand, takePositionals, type CommandIo } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Describes a model for the writer. The weights are those that its forward pass reads. */
async function describe(model: string): Promise<ModelToExport> {
  const config = await readModelConfig(model)
  const { gguf } = FAMILIES[config.model_type]
  if (!gguf)
    throw new UnsupportedError(
      `${model}: ${config.model_type} models are not written as GGUF; supported: ` +
        FAMILY_NAMES.filter(name => FAMILIES[name].gguf !== undefined).join(', '),
    )
  const { architecture } = gguf
  return { model, config, architecture, weights: partsOf(config).weights }
}

async function exportTo(
  given: string,
  output: string,
  options: { base: string | undefined; type: (typeof GGUF_EXPORT_TYPES)[number] | undefined },
  io: CommandIo,
) {
  const hub = { env: io.env, signal: io.signal }
  if (!(await exists(join(given, 'adapter_config.json')))) {
    if (options.base !== undefined)
      throw new UsageError(`--base is only for adapters, and ${given} is not an adapter`)
    const model = await resolveRepo('model', given, hub)
    return exportGgufModel(await describe(model), output, options.type ?? 'as-stored')
  }
  if (options.type !== undefined)
    throw new UsageError('--type is only for models: adapters are written in f32')
  const base = options.base ?? adapterBase(given)
  if (base === '') throw new UsageError(`${given} does not name its base model; give it with --base`)
  return exportGgufAdapter(await describe(await resolveRepo('model', base, hub)), given, output)
}

export const exportRun = defineCommand({
  name: 'export',
  summary: 'Convert a model or an adapter to GGUF, the format of llama.cpp',
  usage: [
    ['export MODEL|ADAPTER --format gguf', 'write NAME.gguf, with tokenizer and chat template'],
    [`  --type ${GGUF_EXPORT_TYPES.join('|')}`, "type of a model's matrices; default: as-stored"],
    ['  --output FILE', 'output file, which must not exist; default: NAME.gguf'],
    ['  --base MODEL', 'base model of the adapter; default: the base that the adapter names'],
  ],
  options: {
    format: { type: 'string' },
    type: { type: 'string' },
    output: { type: 'string' },
    base: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [given] = takePositionals(positionals, ['a directory of a model or an adapter'])
    if (values.format !== 'gguf')
      throw new UsageError(
        values.format === undefined
          ? '--format is required and must be gguf'
          : `--format must be gguf, got ${JSON.stringify(values.format)}`,
      )
    const type = GGUF_EXPORT_TYPES.find(known => known === values.type)
    if (values.type !== undefined && type === undefined)
      throw new UsageError(
        `--type must be ${GGUF_EXPORT_TYPES.join(', ')}, got ${JSON.stringify(values.type)}`,
      )
    const output = values.output ?? `${basename(given, '.gguf')}.gguf`
    if (await exists(output))
      throw new UsageError(`${output} already exists; give another file with --output`)
    const { tensors, notes } = await exportTo(given, output, { base: values.base, type }, io)
    for (const note of notes) io.note(note)
    io.out(values.json ? `${JSON.stringify({ output, tensors, notes })}\n` : `${output}\n`)
    return EXIT.ok.code
  },
})
