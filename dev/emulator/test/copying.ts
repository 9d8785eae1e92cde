/** Kernels of PTX text with mbarriers and bulk copies. */
import { ptxOf, type Launch, type TensorMap } from './card.ts'

export const CAPABILITY = { CAIRN_EMULATOR_CAPABILITY: '90' }

/** %p0: thread 0. %r2: the tile. Global memory: %rd1 is the input, %rd3 this thread's word of the output. */
const PRELUDE = `
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
  .shared .align 1024 .b8 tile[4096];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 empty;
  .local .align 64 .b8 depot[128];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.b64 %rd4, map;
  cvta.param.u64 %rd5, %rd4;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd6, %rd1, %rd3;
  add.s64 %rd3, %rd2, %rd3;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 2;
  add.s32 %r3, %r2, %r3;
  setp.eq.u32 %p0, %r1, 0;
`

const MAP: TensorMap = { of: 0, type: 2, swizzle: 0, sizes: [16, 16], strides: [64], tile: [16, 4] }

/** A launch of `body` over 256 words of input and 64 of output, with a tensor map of the input. */
export const copying = (body: string, threads = 64, map: Partial<TensorMap> = {}): Launch => ({
  ptx: ptxOf(
    `${PRELUDE}${body}\n  ret;`,
    '.param .u64 in, .param .u64 out, .param .align 128 .b8 map[128]',
    'sm_90',
  ),
  kernel: 'kernel',
  block: [threads],
  args: [
    { buffer: Uint32Array.from({ length: 256 }, (_, at) => 1000 + at) },
    { buffer: new Uint32Array(64) },
    { map: { ...MAP, ...map } },
  ],
  env: CAPABILITY,
})

/** The line of the PTX that ends with the mark. */
export const faultLine = (ptx: string): number =>
  1 + ptx.split('\n').findIndex(line => line.endsWith('// fault'))

export const INIT = `
  @%p0 mbarrier.init.shared::cta.b64 [full], 1;
  @%p0 mbarrier.init.shared::cta.b64 [empty], 2;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
`
export const expectBytes = (bytes: number) =>
  `@%p0 mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], ${bytes};\n`
export const LOAD =
  '@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 256, [full];'
export const waitFor = (parity: number, name = 'full', label = 'WAIT') =>
  `${label}: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [${name}], ${parity}; ` +
  `@!%p1 bra ${label};`

/** Orders of warps and of copies in which a right kernel gives the same result. */
export const MODES = [
  {},
  { CAIRN_EMULATOR_COPIES: 'at-once' },
  { CAIRN_EMULATOR_SEED: '1' },
  { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '2' },
  { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '3' },
]
