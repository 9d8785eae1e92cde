/** Writes an adapter as a GGUF file, which llama.cpp loads beside its base. */
import { basename } from 'node:path'
import { InputError, UnsupportedError } from '../errors.ts'
import { matricesOf, missingExperts } from '../experts.ts'
import { readAdapter } from '../peft-adapter.ts'
import { permuteRows } from './architectures.ts'
import { FILE_TYPES, headsOf, namesOf, type ExportSummary, type ModelToExport } from './export-model.ts'
import { everySecondRow } from './mxfp4-stacks.ts'
import { encodeGguf } from './tensor-types.ts'
import { f32, text, u32, writeGguf, type GgufTensorToWrite } from './writer.ts'

const DOWN = '.lora_A.weight'
const EXPERT = /\.experts\.(\d+)\./

/** A matrix under the name of its tensor, which for experts contains those of all. */
type Matrix = { name: string; expert: string | undefined; shape: readonly number[]; bytes: Uint8Array }

/** Tensors of a file: single matrices, and stacks of the experts' matrices. */
function stacked(matrices: readonly Matrix[]): GgufTensorToWrite[] {
  const byName = Map.groupBy(matrices, ({ name }) => name)
  return [...byName].map(([name, group]) => {
    const inOrder = group.toSorted((a, b) => Number(a.expert) - Number(b.expert))
    const [first] = inOrder
    const shape = first?.shape ?? []
    return first?.expert === undefined
      ? { name, type: 'F32', shape, bytes: first?.bytes ?? new Uint8Array() }
      : {
          name,
          type: 'F32',
          shape: [inOrder.length, ...shape],
          bytes: Buffer.concat(inOrder.map(({ bytes }) => bytes)),
        }
  })
}

/** Writes an adapter for the model that `given` describes. Its matrices stay f32. */
export async function exportGgufAdapter(
  given: ModelToExport,
  directory: string,
  output: string,
): Promise<ExportSummary> {
  const { config, model, weights } = given
  const { row, names } = namesOf(given)
  const {
    tensors: found,
    scaleOf,
    magnitudes,
    changes,
  } = await readAdapter(
    directory,
    weights.map(({ name }) => ({ name: name.replace(/\.weight$/, '') })),
  )
  if (magnitudes.length > 0)
    throw new UnsupportedError(
      `${directory}: llama.cpp does not support DoRA; merge the adapter and export the merged model`,
    )
  if (changes.length > 0)
    throw new UnsupportedError(
      `${directory}: llama.cpp does not support adapters that replace ${changes[0]?.weight}; ` +
        'merge the adapter and export the merged model',
    )
  const shapes = new Map(weights.flatMap(matricesOf).map(({ name, shape }) => [name, shape]))
  const first = found.find(({ name }) => name.endsWith(DOWN))
  const alpha = first ? scaleOf(first.name.slice(0, -DOWN.length)) * first.shape[0] : 1
  const wrong = missingExperts(
    found.map(({ name }) => name),
    weights.map(({ name, shape: [count, ...rest] }) => ({
      name: name.replace(/\.weight$/, ''),
      experts: rest.length === 2 ? count : undefined,
    })),
  )
  if (wrong !== undefined) throw new InputError(`${directory}: ${wrong}`)
  const matrices = found.flatMap(({ name, shape, values }): Matrix[] => {
    const [, linear = '', side] = /^(.*)\.lora_([AB])\.weight$/.exec(name) ?? []
    const weight = `${linear}.weight`
    const base = shapes.get(weight)
    const named = names.get(weight.replace(EXPERT, '.experts.'))
    if (!base || !named)
      throw new InputError(
        `${directory}: ${JSON.stringify(name)} does not match a weight of ${model}; ` +
          'the adapter belongs to another model',
      )
    const rank = shape[side === 'A' ? 0 : 1]
    const wanted = side === 'A' ? [rank, base[1] ?? 0] : [base[0] ?? 0, rank]
    if (wanted.some((size, i) => size !== shape[i]))
      throw new InputError(
        `${directory}: ${JSON.stringify(name)} is (${shape.join(', ')}), but ${model} needs ` +
          `(${wanted.join(', ')}); the adapter belongs to another model`,
      )
    // llama.cpp multiplies by a common alpha, and divides by the rank of each.
    const factor = (scaleOf(linear) * rank) / alpha
    const bytes = encodeGguf('F32', side === 'A' || factor === 1 ? values : values.map(v => v * factor))
    return named.map(one => {
      const tensor = {
        name: `${one.gguf}.lora_${side === 'A' ? 'a' : 'b'}`,
        expert: EXPERT.exec(weight)?.[1],
        shape,
        bytes,
      }
      if (side === 'A') return tensor
      if (one.rows)
        return { ...tensor, shape: [shape[0] / 2, rank], bytes: everySecondRow(bytes, shape[0], one.rows) }
      const heads = headsOf(config, one)
      return heads === undefined ? tensor : { ...tensor, bytes: permuteRows(bytes, shape[0], heads, false) }
    })
  })
  const tensors = stacked(matrices)
  const metadata = {
    'general.architecture': text(row.name),
    'general.type': text('adapter'),
    'general.name': text(basename(directory)),
    'general.file_type': u32(FILE_TYPES.F32),
    'adapter.type': text('lora'),
    'adapter.lora.alpha': f32(alpha),
  }
  await writeGguf(output, { metadata, tensors })
  return { tensors: tensors.length, notes: [] }
}
