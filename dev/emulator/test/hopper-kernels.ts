/** Small correct kernels for sm_90a, in which the tests plant faults. */
import { ptxOf, type Launch } from './card.ts'

export type Edits = readonly (readonly [string, string])[]

export function edit(text: string, edits: Edits): string {
  return edits.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`nothing reads ${from}`)
    return changed.replace(from, to)
  }, text)
}

const PRELUDE = `
.reg .pred %p<9>; .reg .b32 %r<29>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
.shared .align 1024 .b8 tile[4096];
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
mov.u32 %r2, tile;
`

export function kernel(body: string, directives = '', edits: Edits = []): string {
  const text = ptxOf(PRELUDE + body + '\nret;', '.param .u64 out', 'sm_90a')
  return edit(text.replace(')\n{', `)\n${directives}\n{`), edits)
}

/** A launch of `threads` threads that writes a word of `out` for each thread of `grid` blocks. */
export const launch = (
  ptx: string,
  threads: number,
  grid: readonly number[],
  more: Partial<Launch> = {},
): Launch => ({
  ptx,
  kernel: 'kernel',
  grid,
  block: [threads],
  args: [{ buffer: new Uint32Array(threads * grid.reduce((all, of) => all * of, 1)) }],
  ...more,
  env: { CAIRN_EMULATOR_CAPABILITY: '90', ...more.env },
})

/** Each thread stores the sum of its first column. A has registers of ones. */
export const products = (edits: Edits = [], threads = 128): Launch =>
  launch(
    kernel(
      `
shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3; mov.u32 %r4, 0x3f803f80;
setp.lt.u32 %p1, %r1, 128;
@%p1 st.shared.u32 [%r3], %r4;
mov.u32 %r5, %r4; mov.u32 %r6, %r4; mov.u32 %r7, %r4; mov.u32 %r8, %r4;
mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %r9, %r2, 4; cvt.u64.u32 %rd2, %r9;
or.b64 %rd2, %rd2, ${(8n << 16n) | (8n << 32n)};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, {%r5,%r6,%r7,%r8}, %rd2, 1, 1, 1, 0;
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd3, %r1, 4; add.s64 %rd3, %rd1, %rd3;
st.global.f32 [%rd3], %f1;`,
      '',
      edits,
    ),
    threads,
    [1],
  )

const SYNC = (name: string) => `barrier.cluster.arrive.aligned; // ${name}
barrier.cluster.wait.aligned; // ${name}`

/** Clusters of two blocks. Each thread stores what the other block's thread wrote to shared memory. */
export const exchange = (
  edits: Edits = [],
  grid: readonly number[] = [4],
  more: Partial<Launch> = {},
): Launch =>
  launch(
    kernel(
      `
mov.u32 %r3, %cluster_ctarank; mov.u32 %r4, %ctaid.x;
shl.b32 %r5, %r1, 2; add.u32 %r6, %r2, %r5;
mul.lo.u32 %r7, %r4, 1000; add.u32 %r7, %r7, %r1;
st.shared.u32 [%r6], %r7;
${SYNC('written')}
xor.b32 %r8, %r3, 1;
mapa.shared::cluster.u32 %r9, %r6, %r8;
ld.shared::cluster.u32 %r10, [%r9];
${SYNC('read')}
st.shared.u32 [%r6], 0;
mad.lo.u32 %r11, %r4, 64, %r1;
mul.wide.u32 %rd2, %r11, 4; add.s64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r10;`,
      '.reqnctapercluster 2, 1, 1',
      edits,
    ),
    64,
    grid,
    more,
  )

/** A producer warpgroup hands registers to two consumers. Each thread stores its warpgroup. */
export const registers = (edits: Edits = [], threads = 384): Launch =>
  launch(
    kernel(
      `
shr.u32 %r3, %r1, 7;
setp.eq.u32 %p1, %r3, 0;
@%p1 bra PRODUCER;
setmaxnreg.inc.sync.aligned.u32 232;
bra STORE;
PRODUCER:
setmaxnreg.dec.sync.aligned.u32 40;
STORE:
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r3;`,
      `.maxntid ${threads}, 1, 1\n.minnctapersm 1`,
      edits,
    ),
    threads,
    [1],
  )

/** Adds 1 to its first 32 words; played twice as a graph, the second launch depends on the first. */
export const dependent = (edits: Edits = []): Launch =>
  launch(
    kernel(
      `
griddepcontrol.wait;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
ld.global.u32 %r3, [%rd2];
griddepcontrol.launch_dependents;
add.u32 %r3, %r3, 1;
st.global.u32 [%rd2], %r3;`,
      '',
      edits,
    ),
    32,
    [1],
    { env: { GRAPH: '2' }, args: [{ buffer: new Uint32Array(64) }] },
  )

/** One elected lane writes; stmatrix writes rows that ld.shared reads back. */
export const elected = (edits: Edits = []): Launch =>
  launch(
    kernel(
      `
elect.sync %r3|%p1, -1;
mov.u32 %r4, 0;
@%p1 mov.u32 %r4, 100;
add.u32 %r4, %r4, %r1;
and.b32 %r5, %r1, 7; shl.b32 %r5, %r5, 4; add.u32 %r5, %r2, %r5;
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r4};
bar.warp.sync -1;
shl.b32 %r6, %r1, 2; xor.b32 %r6, %r6, 4; add.u32 %r6, %r2, %r6;
ld.shared.u32 %r7, [%r6];
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %rd1, %rd2;
st.global.u32 [%rd2], %r7;`,
      '',
      edits,
    ),
    32,
    [1],
  )
