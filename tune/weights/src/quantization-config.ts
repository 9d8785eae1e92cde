/** Detects the layout that a checkpoint's quantization_config declares. */
import { FP8_TILE, NF4_BLOCK } from '@cairn-tune/ops'
import { z } from 'zod'
import { UnsupportedError } from './errors.ts'
import { QUANTIZED_LAYOUTS, type QuantizedLayout } from './quantized.ts'

const fp8 = z.looseObject({
  quant_method: z.literal('fp8'),
  weight_block_size: z.tuple([z.literal(FP8_TILE), z.literal(FP8_TILE)]),
})
const modelOpt = z.looseObject({ quant_method: z.literal('modelopt'), quant_algo: z.literal('NVFP4') })
/** hf_quant_config.json, ModelOpt's own file. */
const modelOptFile = z.looseObject({ quantization: z.looseObject({ quant_algo: z.literal('NVFP4') }) })
const bnb = z.looseObject({
  quant_method: z.literal('bitsandbytes'),
  load_in_4bit: z.literal(true),
  bnb_4bit_quant_type: z.literal('nf4'),
  bnb_4bit_use_double_quant: z.literal(true),
  bnb_4bit_blocksize: z.literal(NF4_BLOCK).optional(),
})

const kinds: readonly (readonly [z.ZodType, QuantizedLayout])[] = [
  [fp8, 'fp8_tiles'],
  [modelOpt, 'nvfp4'],
  [modelOptFile, 'nvfp4'],
  [bnb, 'nf4'],
  [z.looseObject({ quant_method: z.literal('mxfp4') }), 'mxfp4'],
]

/** The declared layout. Undefined without a quantization_config; unsupported ones are rejected. */
export function detectQuantization(path: string, config: unknown): QuantizedLayout | undefined {
  if (config === undefined || config === null) return undefined
  const found = kinds.find(([schema]) => schema.safeParse(config).success)
  if (found) return found[1]
  const shown = JSON.stringify(config)
  throw new UnsupportedError(
    `${path}: quantization_config ${shown.length > 300 ? `${shown.slice(0, 300)}…` : shown} is not ` +
      `supported; supported: fine-grained FP8 with weight_block_size [${FP8_TILE}, ${FP8_TILE}], ` +
      'ModelOpt NVFP4, bitsandbytes NF4 with bnb_4bit_use_double_quant, MXFP4 of gpt-oss ' +
      `(${Object.keys(QUANTIZED_LAYOUTS).join(', ')})`,
  )
}
