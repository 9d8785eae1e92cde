/**
 * Products of wgmma. The bytes of both operands are laid out here as the PTX ISA describes them, and the
 * kernel only copies them into shared memory.
 */
import { ptxOf, type Launch } from './card.ts'

export type Format = 'bf16' | 'f16' | 'tf32' | 'e4m3' | 'e5m2'
/** Bytes of a swizzled row; 16 is none. */
export type Swizzle = 16 | 32 | 64 | 128

export type Product = {
  columns: number
  a: Format
  b: Format
  aSwizzle: Swizzle | 'registers'
  bSwizzle: Swizzle
  aAcross?: boolean
  bAcross?: boolean
  env?: Record<string, string>
  edit?: (ptx: string) => string
}

const ROWS = 64
const bytesOf = { bf16: 2, f16: 2, tf32: 4, e4m3: 1, e5m2: 1 } as const
export const depthOf = (format: Format): number => 32 / bytesOf[format]

/** Codes of 0.25, 0.5, 1, 2 and 64. Negative numbers have the highest bit set. */
const CODES: Record<Format, Record<number, number>> = {
  bf16: { 0.25: 0x3e80, 0.5: 0x3f00, 1: 0x3f80, 2: 0x4000, 64: 0x4280 },
  f16: { 0.25: 0x3400, 0.5: 0x3800, 1: 0x3c00, 2: 0x4000, 64: 0x5400 },
  tf32: { 0.25: 0x3e800000, 0.5: 0x3f000000, 1: 0x3f800000, 2: 0x40000000, 64: 0x42800000 },
  e4m3: { 0.25: 0x28, 0.5: 0x30, 1: 0x38, 2: 0x40, 64: 0x68 },
  e5m2: { 0.25: 0x34, 0.5: 0x38, 1: 0x3c, 2: 0x40, 64: 0x54 },
}

function put(to: DataView, at: number, format: Format, value: number): void {
  const bytes = bytesOf[format]
  const sign = value < 0 ? 2 ** (bytes * 8 - 1) : 0
  const code = value === 0 ? 0 : CODES[format][Math.abs(value)]! + sign
  if (bytes === 1) to.setUint8(at, code)
  else if (bytes === 2) to.setUint16(at, code, true)
  else to.setUint32(at, code, true)
}

export type Numbers = (row: number, k: number) => number
export const SMALL: Numbers = (row, k) => [0, 1, -1, 2, 0.5, -2, 1][(row * 5 + k * 3 + (row >> 3)) % 7]!
export const OTHER: Numbers = (row, k) => [1, 0, -0.5, 2, -1, 1, 0, -2, 2][(row * 7 + k * 2) % 9]!

/** Where a number lies, and the descriptor without its address. */
function layoutOf(rows: number, format: Format, swizzle: Swizzle, isAcross: boolean) {
  const bytes = bytesOf[format]
  const [leading, stride] = isAcross
    ? swizzle === 16
      ? [128, 256]
      : [16 * swizzle, 8 * swizzle]
    : [swizzle === 16 ? rows * 16 : 16, swizzle === 16 ? 128 : 8 * swizzle]
  const place = (row: number, k: number): number => {
    if (isAcross) {
      const at = row * bytes
      return (
        Math.floor(at / swizzle) * (swizzle === 16 ? stride : leading) +
        (k >> 3) * (swizzle === 16 ? leading : stride) +
        (k & 7) * swizzle +
        (at % swizzle)
      )
    }
    const at = k * bytes
    return swizzle === 16
      ? (row >> 3) * stride + (row & 7) * 16 + (at >> 4) * leading + (at & 15)
      : (row >> 3) * stride + (row & 7) * swizzle + at
  }
  const mask = swizzle / 16 - 1
  const swizzled = (at: number) => at ^ (((at >> 7) & mask) << 4)
  const mode = { 16: 0n, 128: 1n, 64: 2n, 32: 3n }[swizzle]
  const descriptor = (BigInt(leading >> 4) << 16n) | (BigInt(stride >> 4) << 32n) | (mode << 62n)
  return { place: (row: number, k: number) => swizzled(place(row, k)), descriptor }
}

const B_AT = 8192
const SHARED = 40_960

function writeOperands(product: Product, a: Numbers, b: Numbers) {
  const image = new DataView(new ArrayBuffer(SHARED))
  const fragments = new DataView(new ArrayBuffer(128 * 16))
  const inRegisters = product.aSwizzle === 'registers'
  const left = layoutOf(
    ROWS,
    product.a,
    product.aSwizzle === 'registers' ? 16 : product.aSwizzle,
    product.aAcross ?? false,
  )
  const right = layoutOf(product.columns, product.b, product.bSwizzle, product.bAcross ?? false)
  const bytes = bytesOf[product.a]
  for (let k = 0; k < depthOf(product.a); k++) {
    for (let row = 0; row < ROWS; row++) {
      const at = k * bytes
      const thread = (row >> 4) * 32 + (row & 7) * 4 + ((at & 15) >> 2)
      const register = (at >> 4) * 2 + ((row >> 3) & 1)
      if (inRegisters) put(fragments, thread * 16 + register * 4 + (at & 3), product.a, a(row, k))
      else put(image, left.place(row, k), product.a, a(row, k))
    }
    for (let n = 0; n < product.columns; n++) put(image, B_AT + right.place(n, k), product.b, b(n, k))
  }
  return { image, fragments, descriptors: [left.descriptor, right.descriptor] as const }
}

const list = (prefix: string, count: number): string =>
  `{${Array.from({ length: count }, (_, k) => `%${prefix}${k}`).join()}}`

/** The kernel and its arguments. Buffer 2 has each thread's accumulators. */
export function groupLaunch(product: Product, a: Numbers = SMALL, b: Numbers = OTHER): Launch {
  const sums = product.columns / 2
  const { image, fragments, descriptors } = writeOperands(product, a, b)
  const inRegisters = product.aSwizzle === 'registers'
  const is16 = bytesOf[product.a] === 2
  const flags = [1, 1]
  if (is16 && !inRegisters) flags.push(Number(product.aAcross ?? false))
  if (is16) flags.push(Number(product.bAcross ?? false))
  const shape = `m64n${product.columns}k${depthOf(product.a)}.f32.${product.a}.${product.b}`
  const body = `
    .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<130>; .reg .b32 %a<4>;
    .shared .align 1024 .b8 tile[${SHARED}];
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd9, [fragments]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; shl.b32 %r3, %r1, 4;
  COPY: cvt.u64.u32 %rd3, %r3; add.u64 %rd4, %rd1, %rd3; add.u32 %r4, %r2, %r3;
    ld.global.v4.u32 {%r5,%r6,%r7,%r8}, [%rd4]; st.shared.v4.u32 [%r4], {%r5,%r6,%r7,%r8};
    add.u32 %r3, %r3, 2048; setp.lt.u32 %p1, %r3, ${SHARED}; @%p1 bra COPY;
    mul.wide.u32 %rd5, %r1, 16; add.u64 %rd9, %rd9, %rd5; ld.global.v4.u32 ${list('a', 4)}, [%rd9];
    fence.proxy.async.shared::cta; bar.sync 0;
    cvt.u64.u32 %rd6, %r2; shr.u64 %rd6, %rd6, 4;
    or.b64 %rd7, %rd6, ${descriptors[0]}; add.u64 %rd8, %rd6, ${B_AT >> 4};
    or.b64 %rd8, %rd8, ${descriptors[1]};
    setp.ne.u32 %p2, %r1, %r1;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.${shape}
      ${list('f', sums)}, ${inRegisters ? list('a', 4) : '%rd7'}, %rd8, %p2, ${flags.join()};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd10, %r1, ${sums * 4}; add.u64 %rd10, %rd2, %rd10;
    ${Array.from({ length: sums }, (_, r) => `st.global.f32 [%rd10+${r * 4}], %f${r};`).join('\n')}
    ret;`
  const text = ptxOf(body, '.param .u64 in, .param .u64 fragments, .param .u64 out', 'sm_90a')
  return {
    ptx: product.edit?.(text) ?? text,
    kernel: 'kernel',
    block: [128],
    args: [{ buffer: image }, { buffer: fragments }, { buffer: new Float32Array(128 * sums) }],
    env: { CAIRN_EMULATOR_CAPABILITY: '90', ...product.env },
    shared: 0,
  }
}

/** The result by rows, from the threads' accumulators. */
export function rowsOf(sums: ArrayBuffer, columns: number): number[] {
  const values = new Float32Array(sums)
  return Array.from({ length: ROWS * columns }, (_, at) => {
    const [row, n] = [Math.floor(at / columns), at % columns]
    const thread = (row >> 4) * 32 + (row & 7) * 4 + ((n & 7) >> 1)
    return values[(thread * columns) / 2 + (n >> 3) * 4 + ((row >> 3) & 1) * 2 + (n & 1)]!
  })
}

export function expectedOf(product: Product, a: Numbers = SMALL, b: Numbers = OTHER): number[] {
  return Array.from({ length: ROWS * product.columns }, (_, at) => {
    const [row, n] = [Math.floor(at / product.columns), at % product.columns]
    let sum = 0
    for (let k = 0; k < depthOf(product.a); k++) sum += a(row, k) * b(n, k)
    return sum
  })
}
