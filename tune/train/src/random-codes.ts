/**
 * Random 4-bit weights of new models: random codes under one scale, generated directly in their storage
 * format, so that a model of any size is written at the speed of the disk.
 */
import { createCipheriv, createHash } from 'node:crypto'
import { MXFP4_BLOCK, NVFP4_BLOCK } from '@cairn-tune/ops'
import { InputError, mxfp4Names, type TensorToWrite } from '@cairn-tune/weights'

/** Root mean square of E2M1's sixteen numbers: 0, ½, 1, 1½, 2, 3, 4, 6 of either sign. */
const RMS = Math.sqrt((0.25 + 1 + 2.25 + 4 + 9 + 16 + 36) / 8)
/** The codes of 1 in E8M0 and in E4M3. */
const [E8M0_ONE, E4M3_ONE] = [127, 0x38]

/** Pseudo-random bytes from a seed and a name: the key stream of a cipher. */
function randomBytes(seed: number, name: string, count: number): Uint8Array {
  const key = createHash('sha256').update(`${seed} ${name}`).digest().subarray(0, 16)
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(new Uint8Array(count))
}

type Codes = { name: string; shape: readonly number[]; seed: number; spread: number }

const sizeOf = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)

/** All experts of a projection in gpt-oss's format. */
export function mxfp4Codes({ name, shape, seed, spread }: Codes): TensorToWrite[] {
  const [experts = 0, rows = 0, columns = 0] = shape
  const names = mxfp4Names(name)
  const scales = [experts, rows, columns / MXFP4_BLOCK]
  const scale = E8M0_ONE + Math.round(Math.log2(spread / RMS))
  return [
    {
      name: names.blocks,
      dtype: 'U8',
      shape: [...scales, MXFP4_BLOCK / 2],
      bytes: () => randomBytes(seed, name, sizeOf(shape) / 2),
    },
    {
      name: names.scales,
      dtype: 'U8',
      shape: scales,
      bytes: () => new Uint8Array(sizeOf(scales)).fill(scale),
    },
  ]
}

/** A matrix in ModelOpt's NVFP4 format. */
export function nvfp4Codes({ name, shape, seed, spread }: Codes): TensorToWrite[] {
  const [rows = 0, columns = 0] = shape
  if (columns % NVFP4_BLOCK !== 0)
    throw new InputError(
      `${name}: rows of ${columns} numbers cannot be split into nvfp4 blocks of ${NVFP4_BLOCK}`,
    )
  const scales = [rows, columns / NVFP4_BLOCK]
  return [
    {
      name,
      dtype: 'U8',
      shape: [rows, columns / 2],
      bytes: () => randomBytes(seed, name, sizeOf(shape) / 2),
    },
    {
      name: `${name}_scale`,
      dtype: 'F8_E4M3',
      shape: scales,
      bytes: () => new Uint8Array(sizeOf(scales)).fill(E4M3_ONE),
    },
    {
      name: `${name}_scale_2`,
      dtype: 'F32',
      shape: [],
      bytes: () => new Uint8Array(Float32Array.of(spread / RMS).buffer),
    },
  ]
}
