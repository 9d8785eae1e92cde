/** Faults planted in kernels for sm_90a, and the words in which the emulator must name them. */
import type { Launch } from './card.ts'
import { dependent, elected, exchange, products, registers } from './hopper-kernels.ts'
import type { Fault } from './faults.ts'

const WAIT = 'wgmma.wait_group.sync.aligned 0;'
const MMA = 'wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16'
const fault = (name: string, launch: Launch, says: RegExp): Fault => ({ name, launch, says })

export const PRODUCT_FAULTS: readonly Fault[] = [
  fault(
    'wait before the sums are stored removed',
    products([[WAIT, '']]),
    /\(st\.global\.f32\).*reads registers with the sums of the wgmma of line \d+, which no wgmma\.wait_group/,
  ),
  fault(
    'sums cleared before the wait',
    products([[WAIT, `mov.f32 %f2, 0f00000000;\n${WAIT}`]]),
    /\(mov\.f32\).*writes registers with the sums of the wgmma of line/,
  ),
  fault(
    'registers of A written before the wait',
    products([[WAIT, `add.u32 %r7, %r1, 1;\n${WAIT}`]]),
    /\(add\.u32\).*writes registers with A of the wgmma of line/,
  ),
  fault(
    'commit removed',
    products([['wgmma.commit_group.sync.aligned;', '']]),
    /reads registers with the sums of the wgmma/,
  ),
  fault(
    'two products with a part of their sums in common',
    products([
      [
        'wgmma.commit_group',
        `${MMA} {%f3,%f4,%f5,%f6}, {%r5,%r6,%r7,%r8}, %rd2, 1, 1, 1, 0;\nwgmma.commit_group`,
      ],
    ]),
    /\(wgmma\.mma_async.*adds to a part of the registers of the wgmma of line/,
  ),
  fault(
    'a warp that jumps over the product',
    products([
      ['wgmma.fence', 'setp.gt.u32 %p2, %r1, 95;\n@%p2 bra OVER;\nwgmma.fence'],
      ['wgmma.wait_group', 'OVER: wgmma.wait_group'],
    ]),
    /\(wgmma\.mma_async.*not reached by all warps of the warpgroup: missing are the warps 3/,
  ),
  fault(
    'a matrix that differs between warps',
    products([['wgmma.fence', 'cvt.u64.u32 %rd5, %r1;\nadd.u64 %rd2, %rd2, %rd5;\nwgmma.fence']]),
    /\(wgmma\.mma_async.*the warps of the warpgroup name different matrices/,
  ),
  fault(
    'half a warpgroup',
    products([], 64),
    /\(wgmma\.mma_async.*needs the four warps of a warpgroup, and this block has 2 warps/,
  ),
  fault(
    'a depth that the format does not have',
    products([[`${MMA} `, 'wgmma.mma_async.sync.aligned.m64n8k16.f32.e4m3.e4m3 ']]),
    /PTX line \d+: wgmma\.mma_async\.sync\.aligned\.m64n8k16\.f32\.e4m3\.e4m3 does not exist/,
  ),
  fault(
    'a transposed operand of fp8',
    products([[`${MMA} `, 'wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 ']]),
    /PTX line \d+: wgmma\.mma_async\.sync\.aligned\.m64n8k32\.f32\.e4m3\.e5m2 has 6 operands here/,
  ),
  fault(
    'wgmma for a target without it',
    products([['.target sm_90a', '.target sm_90']]),
    /PTX line \d+: wgmma\.fence\.sync\.aligned needs sm_90a, and the target is sm_90/,
  ),
]

export const WARP_FAULTS: readonly Fault[] = [
  fault(
    'more registers than the block has',
    registers([['u32 232', 'u32 240']]),
    // 168 · 384 registers; the producer releases 128 · 128.
    /\(setmaxnreg\.inc.*deadlock: \d+ of 12 warps have ended.*for 72 registers a thread; \d+ are free/,
  ),
  fault(
    'registers never released',
    registers([['setmaxnreg.dec.sync.aligned.u32 40;', '']]),
    /\(setmaxnreg\.inc.*deadlock: 4 of 12 warps have ended.*for 64 registers a thread; 0 are free/,
  ),
  fault(
    'setmaxnreg in a part of a warpgroup',
    registers([
      ['PRODUCER:', 'PRODUCER:\nsetp.lt.u32 %p2, %r1, 96;'],
      ['setmaxnreg.dec', '@%p2 setmaxnreg.dec'],
      ['u32 232', 'u32 208'],
    ]),
    /\(setmaxnreg\.dec.*not reached by all warps of the warpgroup: missing are the warps 3/,
  ),
  fault(
    'a release that asks for more',
    registers([['u32 40', 'u32 176']]),
    /\(setmaxnreg\.dec.*releases registers, but a thread has 168 and would have 176/,
  ),
  fault(
    'a count that is not a multiple of 8',
    registers([['u32 40', 'u32 42']]),
    /PTX line \d+: setmaxnreg needs a multiple of 8 from 24 to 256/,
  ),
  fault(
    'a lane that elects without being in the mask',
    elected([['elect.sync %r3|%p1, -1;', 'elect.sync %r3|%p1, 0xffff;']]),
    /\(elect\.sync\).*lanes 16-31 run it and are not in its mask/,
  ),
  fault(
    'rows of stmatrix 8 bytes off',
    elected([['shl.b32 %r5, %r5, 4;', 'shl.b32 %r5, %r5, 3;']]),
    /\(stmatrix[.\w]+\).*misaligned shared access/,
  ),
  fault(
    'rows of stmatrix read without bar.warp.sync',
    elected([['bar.warp.sync -1;', '']]),
    /\(ld\.shared\.u32\).*race: lane \d+ reads shared bytes that the same warp lane \d+ wrote/,
  ),
  fault(
    'results of the launch before read without griddepcontrol.wait',
    dependent([
      ['griddepcontrol.wait;', ''],
      ['griddepcontrol.launch_dependents;', 'griddepcontrol.wait;\ngriddepcontrol.launch_dependents;'],
    ]),
    /\(ld\.global\.u32\).*before griddepcontrol\.wait, which the launch before this one writes/,
  ),
  fault(
    'memory written before griddepcontrol.wait',
    dependent([['griddepcontrol.wait;', 'st.global.u32 [%rd1+192], %r1;\ngriddepcontrol.wait;']]),
    /\(st\.global\.u32\).*writes global memory before griddepcontrol\.wait/,
  ),
]

const READ = ['barrier.cluster.arrive.aligned; // read', 'barrier.cluster.wait.aligned; // read'] as const
const WRITTEN = [
  'barrier.cluster.arrive.aligned; // written',
  'barrier.cluster.wait.aligned; // written',
] as const
const drop = (lines: readonly string[]) => lines.map(line => [line, ''] as const)

const ONLY_LAST = [
  ['ld.shared::cluster.u32', 'setp.eq.u32 %p1, %r3, 1;\n@%p1 ld.shared::cluster.u32'],
] as const

export const CLUSTER_FAULTS: readonly Fault[] = [
  fault(
    'barrier between the write and the read of another block removed',
    exchange([
      ...drop(WRITTEN),
      ['st.shared.u32 [%r6], %r7;', `${WRITTEN.join('\n')}\nst.shared.u32 [%r6], %r7;`],
    ]),
    /\(ld\.shared::cluster\.u32\).*race: lane \d+ reads .* of the cluster's block \d wrote|\(st\.shared.*overwrites .*block \d reads since/,
  ),
  fault(
    'bytes overwritten that another block reads',
    exchange([
      ['st.shared.u32 [%r6], 0;', ''],
      [READ[0], `st.shared.u32 [%r6], 0;\n${READ[0]}`],
    ]),
    /race: lane \d+ (?:reads|overwrites) shared bytes that warp \d lane \d+ of the cluster's block/,
  ),
  fault(
    'an arrival that orders nothing',
    exchange([[WRITTEN[0], 'barrier.cluster.arrive.relaxed.aligned;']]),
    /\(ld\.shared::cluster\.u32\).*race: lane \d+ reads .* of the cluster's block \d wrote/,
  ),
  fault(
    'no barrier before the first access to another block',
    exchange(drop(WRITTEN)),
    /\(ld\.shared::cluster\.u32\).*the cluster's block \d, which may not have started/,
  ),
  fault(
    'a block that ends before another has read its shared memory',
    exchange([...drop(READ), ['st.shared.u32 [%r6], 0;', '']]),
    /\(ld\.shared::cluster\.u32\).*(?:can end before this access|has ended)/,
  ),
  fault(
    'a write after a read of the last block alone',
    exchange([
      ...ONLY_LAST,
      ['st.shared.u32 [%r6], 0;', ''],
      [READ[0], `st.shared.u32 [%r6], 0;\n${READ[0]}`],
    ]),
    /\(st\.shared\.u32\).*race: lane \d+ overwrites .* of the cluster's block 1 reads since/,
  ),
  fault(
    'an end after a read of the last block alone',
    exchange([...ONLY_LAST, ...drop(READ), ['st.shared.u32 [%r6], 0;', '']]),
    /\(ld\.shared::cluster\.u32\) block [13],.*block 0 can end before this access to its shared memory/,
  ),
  fault(
    'a grid that the cluster does not divide',
    exchange([], [3]),
    /kernel is launched with a grid of 3×1×1 blocks, which clusters of 2×1×1 do not divide/,
  ),
  fault(
    'more than 8 blocks in a cluster',
    exchange([['.reqnctapercluster 2, 1, 1', '.reqnctapercluster 4, 4, 1']], [4, 4]),
    /kernel has clusters of 4×4×1 blocks; at most 8 are possible/,
  ),
  fault(
    'two arrivals without a wait',
    exchange([[WRITTEN[1], WRITTEN[0]]]),
    /\(barrier\.cluster\.arrive\.aligned\).*arrives at the cluster's barrier twice without a wait/,
  ),
  fault(
    'a wait without an arrival',
    exchange([[WRITTEN[0], '']]),
    /\(barrier\.cluster\.wait\.aligned\).*without having arrived/,
  ),
  fault(
    'a block number outside the cluster',
    exchange([['xor.b32 %r8, %r3, 1;', 'add.u32 %r8, %r3, 1;']]),
    /\(mapa\.shared::cluster\.u32\).*asks for the shared memory of block 2 of a cluster of 2/,
  ),
  fault(
    "another block's address as one of the own block",
    exchange([['ld.shared::cluster.u32', 'ld.shared.u32']]),
    /\(ld\.shared\.u32\).*address outside shared memory/,
  ),
  fault(
    "an address beyond another block's shared memory",
    exchange([['[%r9]', '[%r9+4096]']]),
    /\(ld\.shared::cluster\.u32\).*bytes at \d+ of 4096 of the cluster's block/,
  ),
  fault(
    'a block that never arrives',
    exchange([[WRITTEN[0], `setp.eq.u32 %p1, %r3, 1;\n@%p1 bar.sync 1, 128;\n${WRITTEN[0]}`]]),
    /deadlock: 0 of 4 warps have ended.*block 0 warp 0 waits at the cluster's barrier.*block 1 warp 0 waits at barrier 1/,
  ),
  fault(
    'clusters on a card without them',
    exchange([['.target sm_90a', '.target sm_80']], [4], { env: { CAIRN_EMULATOR_CAPABILITY: '80' } }),
    /PTX line \d+: barrier\.cluster\.arrive\.aligned needs sm_90, and the target is sm_80/,
  ),
]
