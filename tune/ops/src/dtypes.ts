/**
 * Storage of a tensor's numbers. A quantised dtype is one buffer of several parts; `parts` lists their
 * locations.
 */

/** Elements that share one scale, along the contraction dimension unless two numbers are given. */
export const FP8_TILE = 128
export const NVFP4_BLOCK = 16
export const MXFP4_BLOCK = 32
export const NF4_BLOCK = 64
/** Block scales of NF4 that share one second-level scale. */
export const NF4_GROUP = 256
/** Rows of a bf16_vnni matrix that are interleaved. */
export const VNNI_ROWS = 16
/** Elements of an 8-bit optimizer state that share one scale. */
export const DYNAMIC_BLOCK = 256

export type PartLayout = { name: string; offset: number; bytes: number }
export type Shape = readonly number[]

type DtypeSpec = {
  /** Number of this dtype in native code, and its index in this table. Never reused. */
  code: number
  doc: string
  /** Returns the requirement that a shape violates, or undefined. */
  refuse?: (shape: Shape) => string | undefined
  parts: (shape: Shape) => readonly [name: string, bytes: number][]
}

const plain = (code: number, bytes: number, doc: string): DtypeSpec => ({
  code,
  doc,
  parts: shape => [['values', countElements(shape) * bytes]],
})

const rows = (shape: Shape) => shape[0] ?? 0
const columns = (shape: Shape) => shape[1] ?? 0

const refuseUnlessBlocks = (block: number) => (shape: Shape) =>
  shape.length === 2 && columns(shape) % block === 0
    ? undefined
    : `needs two dimensions, the second a multiple of ${block}`

const state = (code: number, sign: string): DtypeSpec => ({
  code,
  doc:
    `codes of the ${sign} 8-bit dynamic map, with one f32 scale per ${DYNAMIC_BLOCK} consecutive ` +
    'elements; for optimizer states, not for weights',
  parts: shape => [
    ['codes', countElements(shape)],
    ['scales', Math.ceil(countElements(shape) / DYNAMIC_BLOCK) * 4],
  ],
})

export const DTYPES = {
  f32: plain(0, 4, 'IEEE single precision'),
  bf16: plain(1, 2, 'the upper half of f32'),
  i32: plain(2, 4, 'signed integer'),
  fp8_tiles: {
    code: 3,
    doc: `E4M3 codes with one f32 scale per ${FP8_TILE}×${FP8_TILE} tile`,
    refuse: shape => (shape.length === 2 ? undefined : 'needs two dimensions'),
    parts: shape => [
      ['codes', rows(shape) * columns(shape)],
      ['scales', Math.ceil(rows(shape) / FP8_TILE) * Math.ceil(columns(shape) / FP8_TILE) * 4],
    ],
  },
  nvfp4: {
    code: 4,
    doc:
      'E2M1 codes, two per byte, low nibble first; ' +
      `one E4M3 scale per ${NVFP4_BLOCK} elements of a row; one f32 scale per tensor`,
    refuse: refuseUnlessBlocks(NVFP4_BLOCK),
    parts: shape => [
      ['codes', (rows(shape) * columns(shape)) / 2],
      ['scales', (rows(shape) * columns(shape)) / NVFP4_BLOCK],
      ['tensor_scale', 4],
    ],
  },
  mxfp4: {
    code: 5,
    doc: `E2M1 codes, two per byte, low nibble first; one E8M0 scale per ${MXFP4_BLOCK} elements of a row`,
    refuse: refuseUnlessBlocks(MXFP4_BLOCK),
    parts: shape => [
      ['codes', (rows(shape) * columns(shape)) / 2],
      ['scales', (rows(shape) * columns(shape)) / MXFP4_BLOCK],
    ],
  },
  nf4: {
    code: 6,
    doc:
      'NF4 codes, two per byte, high nibble first; ' +
      `one scale per ${NF4_BLOCK} elements, itself an 8-bit code in groups of ${NF4_GROUP}`,
    refuse: refuseUnlessBlocks(NF4_BLOCK),
    parts: shape => {
      const blocks = (rows(shape) * columns(shape)) / NF4_BLOCK
      return [
        ['codes', (rows(shape) * columns(shape)) / 2],
        ['scale_codes', blocks],
        ['group_scales', Math.ceil(blocks / NF4_GROUP) * 4],
        ['offset', 4],
        ['scale_map', 256 * 4],
      ]
    },
  },
  fp8_tensor: {
    code: 7,
    doc: 'E4M3 codes with one f32 scale per tensor',
    refuse: shape => (shape.length === 2 ? undefined : 'needs two dimensions'),
    parts: shape => [
      ['codes', rows(shape) * columns(shape)],
      ['scale', 4],
    ],
  },
  dynamic8: state(8, 'signed'),
  dynamic8_unsigned: state(9, 'unsigned'),
  bf16_vnni: {
    code: 10,
    doc:
      'bf16 in the order in which dot-product instructions read it: ' +
      `number k of row r of K is at (⌊r / ${VNNI_ROWS}⌋·K/2 + ⌊k / 2⌋)·${2 * VNNI_ROWS} + (r mod ` +
      `${VNNI_ROWS})·2 + k mod 2; the last ${VNNI_ROWS} rows are padded with 0`,
    refuse: shape =>
      shape.length === 2 && columns(shape) % 2 === 0 ? undefined : 'needs two dimensions, the second even',
    parts: shape => [['values', alignUp(rows(shape), VNNI_ROWS) * columns(shape) * 2]],
  },
} as const satisfies Record<string, DtypeSpec>

export type Dtype = keyof typeof DTYPES
export const DTYPE_NAMES = Object.keys(DTYPES) as Dtype[]

/** Alignment of every part, so that vector loads never straddle parts. */
export const PART_ALIGNMENT = 64

export const alignUp = (bytes: number, to: number) => Math.ceil(bytes / to) * to

export function countElements(shape: Shape): number {
  return shape.reduce((product, size) => product * size, 1)
}

/**
 * Whether a tensor is several matrices of a dtype that stores a matrix in parts: one layout per matrix, in a
 * row.
 */
export const isStack = (dtype: Dtype, shape: Shape) => shape.length === 3 && 'refuse' in DTYPES[dtype]

/** Bytes from one matrix (the last two dimensions) to the next in a tensor of three dimensions. */
export function matrixStride(dtype: Dtype, shape: Shape): number {
  const bytes = byteLength(dtype, shape.slice(1))
  return isStack(dtype, shape) ? alignUp(bytes, PART_ALIGNMENT) : bytes
}

/** Locations of the parts of a tensor's buffer, in order. */
export function partsOf(dtype: Dtype, shape: Shape): PartLayout[] {
  const spec: DtypeSpec = DTYPES[dtype]
  if (isStack(dtype, shape))
    return [{ name: 'matrices', offset: 0, bytes: (shape[0] ?? 0) * matrixStride(dtype, shape) }]
  const refused = spec.refuse?.(shape)
  if (refused !== undefined) throw new Error(`[${dtype}] ${refused}, got (${shape.join(', ')})`)
  let offset = 0
  return spec.parts(shape).map(([name, bytes]) => {
    const part = { name, offset, bytes }
    offset = alignUp(offset + bytes, PART_ALIGNMENT)
    return part
  })
}

/** Bytes of a tensor's buffer. */
export function byteLength(dtype: Dtype, shape: Shape): number {
  const last = partsOf(dtype, shape).at(-1)
  return last ? last.offset + last.bytes : 0
}

/** Views bytes that start at a multiple of four as f32. */
export const floatsOf = ({ buffer, byteOffset, byteLength: bytes }: Uint8Array): Float32Array =>
  new Float32Array(buffer, byteOffset, bytes / 4)
/** The same for i32. */
export const intsOf = ({ buffer, byteOffset, byteLength: bytes }: Uint8Array): Int32Array =>
  new Int32Array(buffer, byteOffset, bytes / 4)
