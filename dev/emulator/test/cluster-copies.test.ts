import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card, type Launch } from './card.ts'
import { MODES, copying, expectBytes, faultLine, waitFor } from './copying.ts'
import { edit, type Edits } from './hopper-kernels.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const SYNC = 'barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;'

/** %r10: this block, %r11: the other. %r12 to %r14: the other's tile, `full` and `empty`. */
const START = `
  mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1;
  mapa.shared::cluster.u32 %r12, %r2, %r11;
  mov.u32 %r13, full; mapa.shared::cluster.u32 %r13, %r13, %r11;
  mov.u32 %r14, empty; mapa.shared::cluster.u32 %r14, %r14, %r11;
  shl.b32 %r15, %r10, 6; add.u32 %r15, %r15, %r1; mul.wide.u32 %rd3, %r15, 4; add.s64 %rd3, %rd2, %rd3;
  shl.b32 %r16, %r10, 8; cvt.u64.u32 %rd9, %r16; add.s64 %rd9, %rd1, %rd9;
  setp.eq.u32 %p4, %r10, 0; and.pred %p4, %p4, %p0;
  @%p0 mbarrier.init.shared::cta.b64 [full], 1;
  @%p0 mbarrier.init.shared::cta.b64 [empty], 64;
  @%p0 fence.mbarrier_init.release.cluster;
  ${SYNC} // started
`

/** A launch of a cluster of two blocks, which ends with a barrier of the cluster. */
function pair(body: string, edits: Edits = [], cluster = '2x1x1'): Launch {
  const launch = copying(edit(`${START}${body}\n${SYNC} // ended`, edits))
  const [input, , map] = launch.args
  return {
    ...launch,
    grid: [2],
    args: [input!, { buffer: new Uint32Array(128) }, map!],
    env: { ...launch.env, ATTRIBUTES: `4:${cluster}` },
  }
}

function words(launch: Launch, env: Record<string, string> = {}): number[] {
  const { status, message, buffers } = card.run({ ...launch, env: { ...launch.env, ...env } })
  expect({ status, message }).toEqual({ status: 0, message: '' })
  return [...new Uint32Array(buffers[1]!)]
}

const SHOW = 'ld.shared.u32 %r4, [%r3]; // fault\nst.global.u32 [%rd3], %r4;'

/** Each thread writes to the other block, and arrives there. */
const ARRIVING = `
  mad.lo.u32 %r17, %r10, 1000, %r1; shl.b32 %r18, %r1, 2; add.u32 %r18, %r12, %r18;
  st.shared::cluster.u32 [%r18], %r17;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];
  ${waitFor(0, 'empty')}
  ${SHOW}`

/** The first block loads a tile into both, which each of them expects. */
const MULTICAST = `
  ${expectBytes(256)} mov.b16 %h1, 3;
  @%p4 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
    [tile], [%rd1], 256, [full], %h1; // multicast
  ${waitFor(0)}
  ${SHOW}`
const multicast = (edits: Edits = []) => pair(`.reg .b16 %h<3>;${MULTICAST}`, edits)

/** Each block loads its part of the input into the other. */
const TO_OTHER = `
  ${expectBytes(256)}
  @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%rd9], 256, [%r13]; // copy
  ${waitFor(0)}
  ${SHOW}`

const both = (value: (block: number, thread: number) => number) =>
  Array.from({ length: 128 }, (_, at) => value(at >> 6, at & 63))

describe('a cluster of cuLaunchKernelEx', () => {
  test.each(MODES)('arrives at the mbarrier of another block, which publishes its writes, %o', env => {
    expect(words(pair(ARRIVING), env)).toEqual(both((block, thread) => 1000 * (1 - block) + thread))
  })

  test.each(MODES)('copies one tile to several blocks, %o', env => {
    expect(words(multicast(), env)).toEqual(both((_, thread) => 1000 + thread))
  })

  test('copies a tile of a tensor to several blocks', () => {
    const tensor = multicast([
      ['cp.async.bulk.shared', 'cp.async.bulk.tensor.2d.shared'],
      ['[%rd1], 256, [full], %h1', '[%rd5, {0, 2}], [full], %h1'],
    ])
    expect(words(tensor)).toEqual(both((_, thread) => 1032 + thread))
  })

  test.each(MODES)('copies to another block, %o', env => {
    expect(words(pair(TO_OTHER), env)).toEqual(both((block, thread) => 1000 + 64 * (1 - block) + thread))
  })

  test('must be that of .reqnctapercluster', () => {
    const launch = pair('', [], '1x1x1')
    const { error, message } = card.run({
      ...launch,
      ptx: launch.ptx.replace(')\n{', ')\n.reqnctapercluster 2, 1, 1\n{'),
    })
    expect(error).toBe('cuLaunchKernelEx: CUDA_ERROR_INVALID_CLUSTER_SIZE')
    expect(message).toMatch(/kernel has clusters of 2×1×1 blocks, and is launched with 1×1×1/)
  })
})

const FAULTS: readonly { name: string; launch: Launch; says: RegExp }[] = [
  {
    name: 'a read of what another block writes without a wait for its arrival',
    launch: pair(ARRIVING, [[waitFor(0, 'empty'), '']]),
    says: /race: lane \d+ (?:reads|overwrites) shared bytes that warp \d lane \d+ of the cluster's block \d/,
  },
  {
    name: 'an arrival before the other block has started',
    launch: pair(ARRIVING, [
      [`${SYNC} // started`, ''],
      ['st.shared::cluster.u32 [%r18], %r17;', ''],
    ]),
    says: /\(mbarrier\.arrive.*accesses shared memory of the cluster's block \d, which may not have started/,
  },
  {
    name: 'an mbarrier of another block that is initialised after the barrier',
    launch: pair('setp.eq.u32 %p5, %r15, 64; @%p5 mbarrier.arrive.shared::cluster.b64 _, [%r14];', [
      ['@%p0 mbarrier.init.shared::cta.b64 [empty], 64;', ''],
      ['// started', '\n@%p0 mbarrier.init.shared::cta.b64 [empty], 64;'],
    ]),
    says: /initialisation by warp 0 lane 0 of the cluster's block 0 no barrier has made visible/,
  },
  {
    name: 'a deadlock at an mbarrier of one block',
    launch: pair(ARRIVING, [
      ['@%p0 mbarrier.init.shared::cta.b64 [empty], 64;', '@%p0 mbarrier.init.shared::cta.b64 [empty], 65;'],
    ]),
    says: /deadlock: .*block 0 warp 0 waits at line \d+ for parity 0: .*block 1 warp 1 waits/,
  },
  {
    name: 'a deadlock at an mbarrier and at the barrier of the cluster',
    launch: pair(`@%p4 mbarrier.arrive.shared.b64 _, [full]; setp.eq.u32 %p5, %r10, 0; @%p5 bra ENDED;
      ${waitFor(0)}\nENDED:`),
    says: /warp 0 waits at the cluster's barrier.*block 1 warp 0 waits at line \d+ for parity 0: .*1 of 1/,
  },
  {
    name: 'a multicast to blocks that the cluster does not have',
    launch: multicast([['mov.b16 %h1, 3;', 'mov.b16 %h1, 6;']]),
    says: /the mask of a multicast names blocks of the cluster, this one is 0x6 in a cluster of 2/,
  },
  {
    name: 'a multicast without a wait in the other block',
    launch: multicast([[waitFor(0), `setp.eq.u32 %p5, %r10, 1; @%p5 bra READ;\n${waitFor(0)}\nREAD:`]]),
    says: /reads shared bytes (?:whose bulk copy is in flight|of a bulk copy without)|overwrites/,
  },
  {
    name: 'more bytes than the other block expects',
    launch: multicast([['[full], 256;', '[full], 128;']]),
    says: /more bytes completed than were expected/,
  },
  {
    name: 'a copy to another block that completes at an mbarrier of the own block',
    launch: pair(TO_OTHER, [['256, [%r13]; // copy', '256, [full];']]),
    says: /its mbarrier is not in the shared memory of the block to which it copies/,
  },
  {
    name: 'a copy whose mbarrier the asynchronous proxy does not see',
    launch: pair(TO_OTHER, [['@%p0 fence.mbarrier_init.release.cluster;', '']]),
    says: /the asynchronous proxy uses the mbarrier at \d+, whose thread ran neither fence\.mbarrier_init/,
  },
  {
    name: 'a block that ends before the arrival of another',
    launch: pair('setp.eq.u32 %p5, %r10, 1; @%p5 mbarrier.arrive.shared::cluster.b64 _, [%r14];', [
      [`${SYNC} // ended`, ''],
    ]),
    says: /\(mbarrier\.arrive.* block 1,.*the cluster's block 0 can end before this access/,
  },
  {
    name: 'a wait for an mbarrier of another block',
    launch: pair(waitFor(0, '%r14')),
    says: /\(mbarrier\.try_wait.*address outside shared memory/,
  },
]

describe('reports a planted fault', () => {
  test.each(FAULTS)('$name', ({ launch, says }) => {
    expect(card.run(launch).message).toMatch(says)
  })
})

test('an arrival at another block returns no state', () => {
  const launch = pair('mbarrier.arrive.shared::cluster.b64 %rd7, [%r14]; // fault')
  const { error, message } = card.run(launch)
  expect(error).toBe('cuModuleLoadData: CUDA_ERROR_INVALID_PTX')
  expect(message).toMatch(/an arrival at an mbarrier of the cluster returns no state/)
  expect(message).toContain(`line ${faultLine(launch.ptx)}`)
})
