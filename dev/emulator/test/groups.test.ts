import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, ptxOf, type Card } from './card.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const K = 16
const ROWS = 64
const COLUMNS = 8

/** A[row][k] = 2·row + k; B[k][column] is 1 for k = column and for k = 15. */
const expected = (row: number, column: number) => 2 * row + column + (2 * row + 15)

// %r20 becomes the offset of a number before its chunk is swizzled.
const acrossK = (row: string, k: number): string[] => [
  `shl.b32 %r20, ${row}, 1;`,
  `add.u32 %r20, %r20, ${(k >> 3) * 1024 + (k & 7) * 128};`,
]
const alongK = (row: string, k: number): string[] => [
  `shr.u32 %r20, ${row}, 3;`,
  'shl.b32 %r20, %r20, 10;',
  `and.b32 %r21, ${row}, 7;`,
  'shl.b32 %r21, %r21, 7;',
  'add.u32 %r20, %r20, %r21;',
  `add.u32 %r20, %r20, ${k * 2};`,
]

/**
 * Writes A and B into shared memory as 128-byte rows with swizzled chunks, along k or across k; eight rows
 * are 1024 bytes. Thread t writes row t of A, and threads below 8 also write a row of B.
 */
function fill(aAcross: boolean, bAcross: boolean): string {
  const put = (row: string, k: number, base: number, across: boolean, value: string) => `
${(across ? acrossK(row, k) : alongK(row, k)).join('\n')}
    shr.u32 %r21, %r20, 7; and.b32 %r21, %r21, 7; shl.b32 %r21, %r21, 4; xor.b32 %r20, %r20, %r21;
    add.u32 %r20, %r20, ${base}; add.u32 %r20, %r20, %r5;
    cvt.rn.f32.u32 %f20, ${value}; cvt.rn.bf16.f32 %h1, %f20; st.shared.b16 [%r20], %h1;`
  const lines: string[] = []
  for (let k = 0; k < K; k++)
    lines.push(`shl.b32 %r22, %r1, 1; add.u32 %r22, %r22, ${k};`, put('%r1', k, 0, aAcross, '%r22'))
  const rowsOfB = Array.from(
    { length: K },
    (_, k) =>
      `setp.eq.u32 %p1, %r1, ${k}; selp.b32 %r22, 1, 0, %p1;
      ${k === 15 ? 'mov.u32 %r22, 1;' : ''}${put('%r1', k, 8192, bAcross, '%r22')}`,
  )
  return `
    setp.ge.u32 %p0, %r1, 64; @%p0 bra FILLED;
    ${lines.join('\n')}
    setp.ge.u32 %p0, %r1, 8; @%p0 bra FILLED;
    ${rowsOfB.join('\n')}
  FILLED: fence.proxy.async.shared::cta; bar.sync 0;`
}

function run(aAcross: boolean, bAcross: boolean, edit: (ptx: string) => string = text => text) {
  const product = `wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16
    {%f0,%f1,%f2,%f3}, %rd3, %rd4, 1, 1, 1, ${Number(aAcross)}, ${Number(bAcross)};`
  const body = `
    .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .f32 %f<40>; .reg .b16 %h<4>;
    .shared .align 1024 .b8 tile[16384];
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r5, tile;
    ${fill(aAcross, bAcross)}
    cvt.u64.u32 %rd2, %r5; shr.u64 %rd3, %rd2, 4;
    or.b64 %rd3, %rd3, ${(1n << 62n) | (64n << 32n) | (1n << 16n)};
    add.s64 %rd4, %rd3, 512;
    mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
    wgmma.fence.sync.aligned;
    ${product}
    wgmma.commit_group.sync.aligned;
    ${product}
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd5, %r1, 16; add.s64 %rd6, %rd1, %rd5;
    st.global.v4.f32 [%rd6], {%f0,%f1,%f2,%f3};
    ret;`
  const { message, buffers } = card.run({
    ptx: edit(ptxOf(body, '.param .u64 out', 'sm_90a')),
    kernel: 'kernel',
    block: [128],
    args: [{ buffer: new Float32Array(128 * 4) }],
    env: { CAIRN_EMULATOR_CAPABILITY: '90' },
  })
  const values = new Float32Array(buffers[0]!)
  const result = Array.from({ length: ROWS * COLUMNS }, (_, at) => {
    const [row, column] = [Math.floor(at / COLUMNS), at % COLUMNS]
    const thread = (row >> 4) * 32 + (row & 7) * 4 + (column >> 1)
    return values[thread * 4 + ((row >> 3) & 1) * 2 + (column & 1)]!
  })
  return { message, result }
}

const twice = Array.from(
  { length: ROWS * COLUMNS },
  (_, at) => 2 * expected(Math.floor(at / COLUMNS), at % COLUMNS),
)

describe('wgmma', () => {
  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('accumulates two products of shared operands (A across k: %s, B across k: %s)', (aAcross, bAcross) => {
    expect(run(aAcross, bAcross)).toEqual({ message: '', result: twice })
  })

  test('reports operands that no fence makes visible to the asynchronous proxy', () => {
    const { message } = run(false, false, text => text.replace('fence.proxy.async.shared::cta;', ''))
    expect(message).toMatch(/wgmma.*the asynchronous proxy reads shared bytes that .* without a fence\.proxy/)
  })

  test('waiting for one of two groups on the same accumulators is not enough', () => {
    const { message } = run(false, false, text =>
      text.replace('wait_group.sync.aligned 0', 'wait_group.sync.aligned 1'),
    )
    expect(message).toMatch(/\(st\.global\.v4\.f32\).*reads registers with the sums of the wgmma of line \d+/)
  })

  test('copies of accumulators before the wait are NaN', () => {
    const { message, result } = run(false, false, text =>
      text.replace(
        'wgmma.wait_group.sync.aligned 0;',
        'mov.f32 %f4, %f0;\nwgmma.wait_group.sync.aligned 0;\nmov.f32 %f0, %f4;',
      ),
    )
    expect(message).toBe('')
    expect(result.filter((_, at) => (at >> 6) % 2 === 0 && at % 2 === 0).every(Number.isNaN)).toBe(true)
  })

  test('reports a race if operands are written too late', () => {
    const { message } = run(false, false, text => text.replace('bar.sync 0;', ''))
    expect(message).toMatch(/wgmma.*race: lane \d+ reads shared bytes/)
  })

  test('reports a race if operands are overwritten before the wait', () => {
    const { message } = run(false, false, text =>
      text.replace(
        'wgmma.wait_group.sync.aligned 0;',
        'st.shared.u32 [%r5], %r1;\nwgmma.wait_group.sync.aligned 0;',
      ),
    )
    expect(message).toMatch(/race: lane \d+ overwrites shared bytes/)
  })
})
