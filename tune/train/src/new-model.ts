/**
 * New models: model directories with random weights, for tests, memory planning, speed runs and training from
 * scratch.
 */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  configJsonText,
  parseModelConfig,
  partsOf,
  type FamilyName,
  type ModelConfig,
} from '@cairn-tune/models'
import {
  InputError,
  encodeFloats,
  makeDirectory,
  matricesOf,
  writeCheckpoint,
  type TensorToWrite,
} from '@cairn-tune/weights'
import { BYTE_VOCABULARY, END_OF_TEXT, END_OF_TURN, byteTokenizerFiles } from './byte-tokenizer.ts'
import { createRandom } from './random.ts'
import { mxfp4Codes, nvfp4Codes } from './random-codes.ts'
import { SHAPES, truncateShape, type ShapeName } from './shapes.ts'

/** config.json of a shape, with some keys overridden. The byte tokenizer fits every vocabulary. */
export function configJsonOfShape(
  shape: ShapeName,
  over: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> & { model_type: FamilyName } {
  const json = {
    ...SHAPES[shape],
    initializer_range: 0.02,
    eos_token_id: END_OF_TURN,
    pad_token_id: END_OF_TEXT,
  }
  return { ...json, ...over }
}

/** The same, parsed. */
export const configOfShape = (shape: ShapeName, over?: Readonly<Record<string, unknown>>): ModelConfig =>
  parseModelConfig(`shape ${shape}`, configJsonOfShape(shape, over))

/**
 * Writes a model of a shape to a new directory. Norms are 1, biases 0, all else is normally distributed with
 * the configuration's spread, by seed and name.
 */
export const writeNewModel = (
  directory: string,
  shape: ShapeName,
  seed: number,
  layers?: number,
  over: Readonly<Record<string, unknown>> = {},
): Promise<void> =>
  writeModelFromConfig(
    directory,
    configJsonOfShape(shape, { ...(layers === undefined ? {} : truncateShape(shape, layers)), ...over }),
    seed,
  )

/** Keys of config.json that make a new model store its projections in NVFP4. */
export const STORED_NVFP4 = { quantization_config: { quant_method: 'modelopt', quant_algo: 'NVFP4' } }

/** The same for any config.json. */
export async function writeModelFromConfig(
  directory: string,
  keys: Readonly<Record<string, unknown>> & { model_type: FamilyName },
  seed: number,
): Promise<void> {
  const config = parseModelConfig('config.json', keys)
  if (config.vocab_size < BYTE_VOCABULARY)
    throw new Error(
      `[writeModelOf] the model has ${config.vocab_size} tokens, the byte tokenizer ${BYTE_VOCABULARY}`,
    )
  await makeDirectory(directory, 'new model')
  if ((await readdir(directory)).length > 0)
    throw new InputError(`${directory}: not empty; write the new model to a new directory`)
  const { weights, projectionOf } = partsOf(config)
  const coded = { seed, spread: config.initializer_range }
  const tensors = weights.flatMap((weight): TensorToWrite[] => {
    if (config.quantization === 'mxfp4' && weight.shape.length === 3)
      return mxfp4Codes({ ...weight, ...coded })
    if (config.quantization === 'nvfp4' && projectionOf.has(weight.name))
      return matricesOf(weight).flatMap(matrix => nvfp4Codes({ ...matrix, ...coded }))
    return matricesOf(weight).map(({ name, shape }) => ({
      name,
      dtype: 'BF16',
      shape,
      bytes: () => encodeFloats('BF16', initial(name, shape, seed, config)),
    }))
  })
  await writeCheckpoint(directory, tensors)
  for (const [name, text] of Object.entries({
    ...byteTokenizerFiles(),
    'config.json': configJsonText(keys),
  }))
    await writeFile(join(directory, name), text)
}

function initial(
  name: string,
  shape: readonly number[],
  seed: number,
  { initializer_range: spread, weight_offset }: ModelConfig,
): Float32Array {
  const values = new Float32Array(shape.reduce((product, length) => product * length, 1))
  // Norms multiply by 1, biases add nothing.
  if (shape.length === 1) return values.fill(name.endsWith('norm.weight') ? 1 - weight_offset : 0)
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  // Box-Muller: two normal numbers from two uniform ones, the first in (0, 1].
  for (let i = 0; i < values.length; i += 2) {
    const radius = spread * Math.sqrt(-2 * Math.log(1 - next()))
    const angle = 2 * Math.PI * next()
    values[i] = radius * Math.cos(angle)
    values[i + 1] = radius * Math.sin(angle)
  }
  return values
}
