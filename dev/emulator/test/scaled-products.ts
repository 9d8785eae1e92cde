/**
 * Products of E2M1 numbers with scales of blocks. The registers of both operands and their scales are laid
 * out here as the PTX ISA describes them, and the kernel only loads them.
 */
import { ptxOf, type Launch } from './card.ts'

export type ScaledProduct = {
  kind: 'mxf4nvf4' | 'mxf4'
  blocks: 2 | 4
  scale: 'ue4m3' | 'ue8m0'
  /** byte-id and thread-id. */ a: readonly [number, number]
  b: readonly [number, number]
  /** Passes the selectors in registers. */ inRegisters?: boolean
  target?: string
  edit?: (ptx: string) => string
}

/** A code of E2M1, or a byte of a scale, by row or column, and by k or block. */
export type Codes = (row: number, at: number) => number

const E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6] as const
const numberOf = (code: number): number => (code & 8 ? -1 : 1) * E2M1[code & 7]!
const scaleOf = (type: ScaledProduct['scale'], code: number): number =>
  type === 'ue8m0'
    ? 2 ** (code - 127)
    : code < 8
      ? code * 2 ** -9
      : (8 + (code & 7)) * 2 ** ((code >> 3) - 10)

export const CODES_A: Codes = (row, k) => (row * 5 + k * 3 + (k >> 4)) % 16
export const CODES_B: Codes = (column, k) => (column * 7 + k * 11 + (k >> 5)) % 16
const SCALES = { ue4m3: [0x38, 0x30, 0x3c, 0x01, 0x41], ue8m0: [127, 126, 129, 120, 130] } as const
export const scalesOf =
  (type: ScaledProduct['scale']): Codes =>
  (row, block) =>
    SCALES[type][(row * 3 + block * 2 + (row >> 3)) % 5]!
export const SUMS: Codes = (row, column) => row - 2 * column

/** Registers of a lane: A, B, C, scales of A and of B, and a word without a use. */
const WORDS = 16
/** NaN in both types of scales: no product may use it. */
const UNUSED = 0x7fffffff

type Given = { a: Codes; b: Codes; scalesA: Codes; scalesB: Codes }
export const givenOf = ({ scale }: ScaledProduct): Given => ({
  a: CODES_A,
  b: CODES_B,
  scalesA: scalesOf(scale),
  scalesB: (column, block) => scalesOf(scale)(column + 2, block + 1),
})

function registersOf({ blocks, a: [byteA, threadA], b: [byteB, threadB] }: ScaledProduct, given: Given) {
  const words = new Uint32Array(32 * WORDS)
  const floats = new Float32Array(words.buffer)
  const eight = (codes: Codes, row: number, k: number) =>
    Array.from({ length: 8 }, (_, n) => codes(row, k + n) * 2 ** (4 * n)).reduce((sum, code) => sum + code)
  const scales = (codes: Codes, row: number, byte: number) => {
    const bytes = new Uint8Array(Uint32Array.of(UNUSED).buffer)
    for (let block = 0; block < blocks; block++) bytes[byte + block] = codes(row, block)
    return new Uint32Array(bytes.buffer)[0]!
  }
  for (let lane = 0; lane < 32; lane++) {
    const [g, t] = [lane >> 2, lane & 3]
    for (let r = 0; r < 4; r++) {
      words[lane * WORDS + r] = eight(given.a, g + 8 * (r & 1), 8 * t + 32 * (r >> 1))
      floats[lane * WORDS + 6 + r] = SUMS(g + 8 * (r >> 1), 2 * t + (r & 1))
    }
    for (let r = 0; r < 2; r++) words[lane * WORDS + 4 + r] = eight(given.b, g, 8 * t + 32 * r)
    words[lane * WORDS + 10] = t >> 1 === threadA ? scales(given.scalesA, g + 8 * (t & 1), byteA) : UNUSED
    words[lane * WORDS + 11] = t === threadB ? scales(given.scalesB, g, byteB) : UNUSED
  }
  return words
}

/** The kernel and its arguments. Buffer 1 has the sums, row by row of a lane. */
export function scaledLaunch(product: ScaledProduct, given = givenOf(product)): Launch {
  const { kind, blocks, scale, a, b, inRegisters = false, target = 'sm_120a', edit = ptx => ptx } = product
  const opcode = `mma.sync.aligned.m16n8k64.row.col.kind::${kind}.block_scale.scale_vec::${blocks}X`
  const selectors = inRegisters ? ['{%h0,%h1}', '{%h2,%h3}'] : [`{${a.join()}}`, `{${b.join()}}`]
  const body = `
    .reg .b32 %w<12>; .reg .f32 %d<4>; .reg .b16 %h<4>; .reg .b32 %lane; .reg .b64 %in, %to, %step;
    mov.u32 %lane, %tid.x;
    ld.param.u64 %in, [in];
    mul.wide.u32 %step, %lane, ${WORDS * 4};
    add.s64 %in, %in, %step;
    ld.param.u64 %to, [out];
    mul.wide.u32 %step, %lane, 16;
    add.s64 %to, %to, %step;
    ${Array.from({ length: 12 }, (_, k) => `ld.global.b32 %w${k}, [%in+${k * 4}];`).join('\n')}
    ${[...a, ...b].map((id, k) => `mov.b16 %h${k}, ${id};`).join('\n')}
    ${opcode}.f32.e2m1.e2m1.f32.${scale} {%d0,%d1,%d2,%d3}, {%w0,%w1,%w2,%w3}, {%w4,%w5},
      {%w6,%w7,%w8,%w9}, %w10, ${selectors[0]}, %w11, ${selectors[1]};
    st.global.v4.f32 [%to], {%d0,%d1,%d2,%d3};
    ret;`
  return {
    ptx: edit(ptxOf(body, '.param .u64 in, .param .u64 out', target)),
    kernel: 'kernel',
    args: [{ buffer: registersOf(product, given) }, { buffer: new Float32Array(128) }],
    env: { CAIRN_EMULATOR_CAPABILITY: '120' },
  }
}

/** Sums of the result in the order of k, in f32. Each product is exact. */
export function expectedSums({ blocks, scale }: ScaledProduct, given: Given): number[] {
  return Array.from({ length: 128 }, (_, at) => {
    const [row, column] = [at >> 3, at & 7]
    let sum = SUMS(row, column)
    for (let k = 0; k < 64; k++) {
      const block = Math.floor((k * blocks) / 64)
      sum = Math.fround(
        sum +
          numberOf(given.a(row, k)) *
            scaleOf(scale, given.scalesA(row, block)) *
            numberOf(given.b(column, k)) *
            scaleOf(scale, given.scalesB(column, block)),
      )
    }
    return sum
  })
}

/** Sums by row and column from the registers of the lanes. */
export const sumsOf = (buffer: ArrayBuffer): number[] => {
  const floats = new Float32Array(buffer)
  return Array.from({ length: 128 }, (_, at) => {
    const [row, column] = [at >> 3, at & 7]
    return floats[((row & 7) * 4 + (column >> 1)) * 4 + (row >> 3) * 2 + (column & 1)]!
  })
}
