import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, ptxOf, type Card, type Launch } from './card.ts'
import { CAPABILITY, INIT, LOAD, MODES, copying, expectBytes, waitFor } from './copying.ts'
import { loadTile, storeTile, tileBytes, type Tensor } from './tensors.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

/** The words of the output of a launch of copy-faults.ts. */
function words(launch: Launch, env: Record<string, string> = {}): number[] {
  const { status, message, buffers } = card.run({ ...launch, env: { ...launch.env, ...env } })
  expect({ status, message }).toEqual({ status: 0, message: '' })
  return [...new Uint32Array(buffers[1]!)]
}

const threads = Array.from({ length: 64 }, (_, thread) => thread)

describe('mbarrier', () => {
  const START = '@%p0 mbarrier.init.shared.b64 [full], 64; bar.sync 0; st.shared.u32 [%r3], %r1;\n'
  const OTHER = `xor.b32 %r5, %r1, 63; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2;
    ld.shared.u32 %r4, [%r5]; st.global.u32 [%rd3], %r4;`

  test.each(MODES)('orders what its arrivals publish before what follows a wait, %o', env => {
    const body = `${START}mbarrier.arrive.release.cta.shared::cta.b64 %rd7, [full];
      WAIT: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [full], %rd7; @!%p1 bra WAIT;\n${OTHER}`
    expect(words(copying(body), env)).toEqual(threads.map(thread => 63 - thread))
  })

  test('counts arrivals by their number, and phases by their parity', () => {
    const body = `${START}@%p0 mbarrier.arrive.shared.b64 %rd7, [full], 63;
      mov.u64 %rd8, full; cvta.shared.u64 %rd8, %rd8;
      setp.eq.u32 %p2, %r1, 63; @%p2 mbarrier.arrive.b64 _, [%rd8];
      ${waitFor(0)}
      mbarrier.arrive.shared.b64 _, [full];
      ${waitFor(1, 'full', 'SECOND')}
      bar.sync 0; @%p0 mbarrier.inval.shared.b64 [full]; @%p0 st.shared.u64 [full], 0;
      ${OTHER}`
    expect(words(copying(body))).toEqual(threads.map(thread => 63 - thread))
  })

  test('reports a race if a thread reads without a wait', () => {
    const body = `${START}mbarrier.arrive.shared.b64 _, [full];\n${OTHER}`
    expect(card.run(copying(body)).message).toMatch(/race: lane \d+ (?:reads|overwrites) shared bytes that/)
  })

  test('bytes may complete before they are expected', () => {
    const body = `${INIT}@%p0 mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [full], 16;
      @%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [full], 16;
      @%p0 mbarrier.arrive.shared.b64 _, [full];
      ${waitFor(0)} st.global.u32 [%rd3], 7;`
    expect(words(copying(body))).toEqual(threads.map(() => 7))
  })
})

describe('bulk copies of bytes', () => {
  test.each(MODES)('arrive in shared memory, and go back from it, %o', env => {
    const body = `${INIT}${expectBytes(256)}${LOAD}\n${waitFor(0)}
      ld.shared.u32 %r4, [%r3]; add.u32 %r4, %r4, 5; st.shared.u32 [%r3], %r4;
      fence.proxy.async.shared::cta; bar.sync 0;
      @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;
      @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;`
    expect(words(copying(body), env)).toEqual(threads.map(thread => 1005 + thread))
  })

  test('move when the block ends if their thread waited for the read only', () => {
    const body = `st.shared.u32 [%r3], %r1; fence.proxy.async; bar.sync 0;
      @%p0 cp.async.bulk.global.shared::cta.bulk_group [%rd2], [tile], 256;
      @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group.read 0;`
    expect(words(copying(body))).toEqual(threads)
  })

  test('count their bytes and sectors', () => {
    const { counts } = card.run(copying(`${INIT}${expectBytes(256)}${LOAD}\n${waitFor(0)}`))
    expect(counts['kernel']).toMatchObject({ global_bytes: 256, global_sectors: 8 })
  })
})

const bf16 = { type: 9, bytes: 2 }
const TENSORS: readonly { name: string; tensor: Tensor; corner: number[] }[] = [
  {
    name: '1d',
    tensor: { ...bf16, swizzle: 0, sizes: [300], strides: [], tile: [256] },
    corner: [100],
  },
  {
    name: '2d, 128-byte swizzle',
    tensor: { ...bf16, swizzle: 3, sizes: [200, 40], strides: [400], tile: [64, 32] },
    corner: [64, 3],
  },
  {
    name: '2d, 128-byte swizzle, beyond both ends',
    tensor: { ...bf16, swizzle: 3, sizes: [200, 40], strides: [416], tile: [64, 32] },
    corner: [180, 20],
  },
  {
    name: '2d, 64-byte swizzle, before both starts',
    tensor: { ...bf16, swizzle: 2, sizes: [40, 40], strides: [80], tile: [32, 32] },
    corner: [-5, -9],
  },
  {
    name: '2d, 32-byte swizzle, words',
    tensor: { type: 2, bytes: 4, swizzle: 1, sizes: [40, 40], strides: [160], tile: [8, 40] },
    corner: [33, 2],
  },
  {
    name: '3d, bytes',
    tensor: { type: 0, bytes: 1, swizzle: 0, sizes: [40, 7, 5], strides: [48, 336], tile: [32, 3, 4] },
    corner: [3, 5, -1],
  },
  {
    name: '4d, f32',
    tensor: {
      type: 7,
      bytes: 4,
      swizzle: 0,
      sizes: [8, 3, 3, 3],
      strides: [32, 96, 288],
      tile: [4, 2, 2, 3],
    },
    corner: [2, 1, 2, -1],
  },
  {
    name: '5d, f64, outside',
    tensor: {
      type: 8,
      bytes: 8,
      swizzle: 0,
      sizes: [4, 2, 2, 2, 2],
      strides: [32, 64, 128, 256],
      tile: [4, 2, 1, 2, 2],
    },
    corner: [0, 0, 1, 2, 0],
  },
]

const LOAD_TILE = 'shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%rd5, {$}], [full]'
const STORE_TILE = 'global.shared::cta.tile.bulk_group [%rd5, {$}], [tile]'

/** Moves one tile between the tensor of the first buffer and the bytes of the second. */
function moveTile(tensor: Tensor, corner: readonly number[], isStore: boolean, env = {}) {
  const { sizes, strides } = tensor
  const bytes = (strides.at(-1) ?? tensor.bytes) * sizes.at(-1)!
  const global = Uint8Array.from({ length: bytes }, (_, at) => (at * 37 + (at >> 8)) & 255)
  const tile = Uint8Array.from({ length: tileBytes(tensor) }, (_, at) => (at * 91 + 7) & 255)
  const copy = `@%p0 cp.async.bulk.tensor.${sizes.length}d.${isStore ? STORE_TILE : LOAD_TILE};`
  const move = copy.replace('$', corner.map(String).join(', '))
  const each = (then: string) =>
    `mov.u32 %r1, %tid.x;
    ${isStore ? 'FILL' : 'SHOW'}: cvt.u64.u32 %rd7, %r1; add.s64 %rd3, %rd2, %rd7; add.u32 %r3, %r2, %r1;
    ${then}
    add.u32 %r1, %r1, 64; setp.lt.u32 %p2, %r1, ${tile.length}; @%p2 bra ${isStore ? 'FILL' : 'SHOW'};`
  const body = `.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
    .shared .align 1024 .b8 tile[8192]; .shared .align 8 .b64 full;
    ld.param.u64 %rd2, [out]; mov.b64 %rd4, map; cvta.param.u64 %rd5, %rd4;
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; setp.eq.u32 %p0, %r1, 0;
    prefetch.tensormap [%rd5];
    ${
      isStore
        ? `${each('ld.global.u8 %r4, [%rd3]; st.shared.u8 [%r3], %r4;')}
          fence.proxy.async.shared::cta; bar.sync 0;
          ${move} @%p0 cp.async.bulk.commit_group; @%p0 cp.async.bulk.wait_group 0;`
        : `@%p0 mbarrier.init.shared.b64 [full], 1; fence.proxy.async; bar.sync 0;
          ${expectBytes(tile.length)}${move}\n${waitFor(0)}
          ${each('ld.shared.u8 %r4, [%r3]; st.global.u8 [%rd3], %r4;')}`
    } ret;`
  const params = '.param .u64 in, .param .u64 out, .param .align 128 .b8 map[128]'
  const { bytes: _, ...map } = tensor
  const { message, buffers } = card.run({
    ptx: ptxOf(body, params, 'sm_90'),
    kernel: 'kernel',
    block: [64],
    args: [
      { buffer: global },
      { buffer: isStore ? tile : new Uint8Array(tile.length) },
      { map: { of: 0, ...map } },
    ],
    env: { ...CAPABILITY, ...env },
  })
  return { message, global, tile, buffers: buffers.map(buffer => new Uint8Array(buffer)) }
}

describe('tensor copies', () => {
  test.each(TENSORS)('load a tile: $name', ({ tensor, corner }) => {
    const { message, global, buffers } = moveTile(tensor, corner, false)
    expect(message).toBe('')
    expect(buffers[1]).toEqual(loadTile(tensor, corner, global))
  })

  test.each(TENSORS)('store a tile: $name', ({ tensor, corner }) => {
    const { message, global, tile, buffers } = moveTile(tensor, corner, true)
    expect(message).toBe('')
    expect(buffers[0]).toEqual(storeTile(tensor, corner, tile, global))
  })

  test.each(MODES)('give the same result with %o', env => {
    const { tensor, corner } = TENSORS[2]!
    const { global, buffers } = moveTile(tensor, corner, false, env)
    expect(buffers[1]).toEqual(loadTile(tensor, corner, global))
  })
})

describe('cuTensorMapEncodeTiled', () => {
  const RULE = 'cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE'
  const LEFT_OUT = 'cuTensorMapEncodeTiled: CUDA_ERROR_NOT_SUPPORTED'
  test.each([
    [
      { sizes: [1, 1, 1, 1, 1, 1], strides: [16, 16, 16, 16, 16], tile: [4, 1, 1, 1, 1, 1] },
      RULE,
      /not 1 to 5/,
    ],
    [{ sizes: [16, 0] }, RULE, /globalDim of dimension 1 is 0/],
    [{ tile: [16, 257] }, RULE, /boxDim of dimension 1 is 257, not 1 to 256/],
    [{ tile: [3, 1] }, RULE, /a row of the tile has 12 bytes, not a multiple of 16/],
    [{ strides: [68] }, RULE, /globalStrides of dimension 0 is 68, not a multiple of 16/],
    [{ swizzle: 1 }, RULE, /a row of the tile has 64 bytes, more than the swizzle of 32/],
    [{ swizzle: 3 }, LEFT_OUT, /shorter than the swizzle/],
    [{ swizzle: 5 }, LEFT_OUT, /swizzle 5/],
    [{ type: 13 }, LEFT_OUT, /data type 13/],
  ])('rejects %o', (map, error, says) => {
    const result = card.run(copying('', 32, map))
    expect(result.error).toBe(error)
    expect(result.message).toMatch(says)
  })
})

describe('cuLaunchKernelEx', () => {
  const launch = copying('st.global.u32 [%rd3], 7;')
  test.each(['6:1', '4:1x1x1,6:1,0:0'])('accepts the attributes %s', ATTRIBUTES => {
    expect(words(launch, { ATTRIBUTES })).toEqual(threads.map(() => 7))
  })

  test.each([
    ['4:2x1x1', 'INVALID_CLUSTER_SIZE', /a grid of 1×1×1 blocks, which clusters of 2×1×1 do not divide/],
    ['4:3x3x1', 'INVALID_CLUSTER_SIZE', /clusters of 3×3×1 blocks; at most 8 are possible/],
    ['4:0x0x0', 'INVALID_CLUSTER_SIZE', /a cluster of 0 blocks/],
    ['2:1', 'NOT_SUPPORTED', /does not know the attribute 2/],
  ])('rejects the attributes %s', (ATTRIBUTES, code, says) => {
    const { error, message } = card.run({ ...launch, env: { ...launch.env, ATTRIBUTES } })
    expect(error).toBe(`cuLaunchKernelEx: CUDA_ERROR_${code}`)
    expect(message).toMatch(says)
  })
})
