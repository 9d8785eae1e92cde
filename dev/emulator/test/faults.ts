/** Faults planted in PTX: what is changed, and the words in which the emulator must name it. */
import { ptxOf, readPtx, type Launch } from './card.ts'

export type Fault = {
  name: string
  launch: Launch
  /** Matches the emulator's message. */ says: RegExp
}

const edit = (ptx: string, ...edits: readonly (readonly [string, string])[]): string =>
  edits.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`nothing reads ${from}`)
    return text.replace(from, to)
  }, ptx)

const SIZE = { M: 64, N: 64, K: 128 }

/** Small numbers, which products of bf16 keep whole. */
export const operand = (rows: number, K: number, salt: number): Uint16Array =>
  Uint16Array.from({ length: rows * K }, (_, i) => {
    const value = ((i * 7 + salt * 5 + (i >> 5)) % 9) - 4
    return new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16
  })

/** The product of product.cu over `of.M` rows of the result, after edits of its text. */
export function product(
  edits: readonly (readonly [string, string])[] = [],
  of: { M?: number; N?: number; K?: number } = {},
  more: Partial<Launch> = {},
): Launch {
  const { M, N, K } = { ...SIZE, ...of }
  const rows = Math.ceil(M / 64) * 64
  return {
    ptx: edit(readPtx('product.ptx'), ...edits),
    kernel: 'product',
    grid: [N / 64, rows / 64],
    block: [128],
    args: [
      { buffer: operand(rows, K, 1) },
      { buffer: operand(N, K, 2) },
      { buffer: new Float32Array(M * N) },
      { u32: M },
      { u32: N },
      { u32: K },
    ],
    ...more,
  }
}

const norm = (...edits: readonly (readonly [string, string])[]): Launch => ({
  ptx: edit(readPtx('rows.ptx'), ...edits),
  kernel: 'rms_norm',
  grid: [2],
  block: [128],
  args: [{ buffer: new Float32Array(400).fill(1) }, { buffer: new Float32Array(400) }, { u32: 200 }],
})

const PRELUDE = `
  .reg .pred %p<9>; .reg .b32 %r<19>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
  .shared .align 16 .b8 tile[256];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
`
const small = (body: string, threads = 32, more: Partial<Launch> = {}): Launch => ({
  ptx: ptxOf(`${PRELUDE}${body}\n  ret;`),
  kernel: 'kernel',
  block: [threads],
  args: [{ buffer: new Uint32Array(64) }],
  ...more,
})

const BARRIER = 'bar.sync \t0;'
const first = (predicate: string, then: string): readonly [string, string] => [
  'mov.u32 \t%r1, %tid.x;',
  `mov.u32 \t%r1, %tid.x;\n${predicate}\n${then}`,
]

export const FAULTS: readonly Fault[] = [
  {
    name: 'barrier of the main loop removed',
    launch: product([[BARRIER, '']]),
    says: /cp\.async is in flight|race/,
  },
  {
    name: 'wait for one group too few',
    launch: product([['wait_group 1', 'wait_group 2']]),
    says: /reads shared bytes whose cp\.async is in flight/,
  },
  {
    name: 'wait removed',
    launch: product([['cp.async.wait_group 1;', '']]),
    says: /reads shared bytes whose cp\.async is in flight/,
  },
  {
    name: 'commit of the first group removed',
    launch: product([['cp.async.commit_group;', '']]),
    says: /reads shared bytes whose cp\.async is in flight/,
  },
  {
    name: 'guard of the columns removed',
    launch: product([['@%p7 bra', '@!%p7 bra $L__BB0_14;\n$L__BB0_14: // @%p7 bra']], { K: 32 }),
    says: /outside every allocation/,
  },
  {
    name: 'guard of the rows of the result removed',
    launch: product([['@%p15 bra \t$L__BB0_30;', '']], { M: 40 }),
    says: /outside every allocation.*beyond the end/,
  },
  {
    name: 'stride of 8 bytes where copies have 16',
    launch: product([['shl.b32 \t%r154, %r153, 4;', 'shl.b32 \t%r154, %r153, 3;']]),
    says: /misaligned shared access/,
  },
  {
    name: 'rows of ldmatrix 8 bytes off',
    launch: product([['shl.b32 \t%r116, %r115, 4;', 'shl.b32 \t%r116, %r115, 3;']]),
    says: /misaligned shared access/,
  },
  {
    name: 'a stage too few of shared memory',
    launch: product([['tiles[24576]', 'tiles[16384]']]),
    says: /outside shared memory/,
  },
  {
    name: 'a stage less in the ring',
    launch: product([
      ['mul.lo.s32 \t%r134, %r133, 3;', 'mul.lo.s32 \t%r134, %r133, 3;\nmov.u32 %r134, %r132;'],
    ]),
    says: /in flight|race/,
  },
  {
    name: 'barrier under a condition of lanes',
    launch: product([[BARRIER, `setp.lt.u32 %p30, %r1, 100;\n@%p30 ${BARRIER}`]]),
    says: /a barrier is reached by a part of the warp/,
  },
  {
    name: 'a warp that ends before the barrier',
    launch: product([first('setp.gt.u32 %p30, %r1, 95;', '@%p30 exit;')]),
    says: /deadlock: 1 of 4 warps have ended/,
  },
  {
    name: 'lanes that end before ldmatrix',
    launch: product([first('setp.gt.u32 %p30, %r1, 120;', '@%p30 exit;')]),
    says: /is reached by a part of the warp: lanes 25-31 have exited/,
  },
  {
    name: 'more threads than the kernel allows',
    launch: product([], {}, { block: [256] }),
    says: /launched with 256 threads a block; at most 128/,
  },
  {
    name: 'barrier between the sums and their readers removed',
    launch: norm([BARRIER, '']),
    says: /race: lane \d+ reads shared bytes that (?:the same warp|warp \d) lane 0 wrote/,
  },
  {
    name: 'shuffle with a mask of lanes that are elsewhere',
    launch: small(
      [
        'setp.lt.u32 %p1, %r1, 16;',
        '@%p1 bra SKIP;',
        'shfl.sync.bfly.b32 %r5|%p2, %r1, 1, 31, -1;',
        'ret;',
        'SKIP: st.global.u32 [%rd3], %r1;',
      ].join('\n'),
    ),
    says: /shfl\.sync is reached by a part of the warp/,
  },
  {
    name: 'lanes of one warp without bar.warp.sync',
    launch: small(
      [
        'st.shared.u32 [%r4], %r1;',
        'xor.b32 %r5, %r4, 4;',
        'ld.shared.u32 %r6, [%r5];',
        'st.global.u32 [%rd3], %r6;',
      ].join('\n'),
    ),
    says: /race: lane 0 reads shared bytes that the same warp lane 1 wrote/,
  },
  {
    name: 'a write before the others have read',
    launch: small(
      [
        'st.shared.u32 [%r4], %r1;',
        'bar.sync 0;',
        'sub.s32 %r5, 63, %r1;',
        'shl.b32 %r5, %r5, 2;',
        'add.s32 %r5, %r2, %r5;',
        'ld.shared.u32 %r6, [%r5];',
        'st.shared.u32 [%r4], %r6;',
      ].join('\n'),
      64,
    ),
    says: /race: lane \d+ (?:reads|overwrites) shared bytes that warp/,
  },
  {
    name: 'copy over bytes that a copy is on its way to',
    launch: small(
      [
        'shl.b32 %r5, %r1, 2;',
        'cp.async.ca.shared.global [%r4], [%rd3], 4;',
        'cp.async.commit_group;',
        'st.shared.u32 [%r4], %r1;',
      ].join('\n'),
    ),
    says: /overwrites shared bytes whose cp\.async is in flight/,
  },
  {
    name: 'warps at different barriers',
    launch: small('setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1;\n@!%p1 bar.sync 2;', 64),
    says: /deadlock: 0 of 2 warps have ended.*waits at barrier 1.*waits at barrier 2/,
  },
  {
    name: 'misaligned vector',
    launch: small('ld.global.v2.u32 {%r5, %r6}, [%rd3];\nst.global.u32 [%rd3], %r5;'),
    says: /misaligned global access: lane 1/,
  },
  {
    name: 'more shared memory than the block has',
    launch: small('', 32, { shared: 200 * 1024 }),
    says: /asks for 204800 bytes of shared memory/,
  },
]
