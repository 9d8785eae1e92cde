import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card, type Launch } from './card.ts'
import { CLUSTER_FAULTS, PRODUCT_FAULTS, WARP_FAULTS } from './hopper-faults.ts'
import { dependent, elected, exchange, products, registers } from './hopper-kernels.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

function words(launch: Launch): Uint32Array {
  const { message, buffers } = card.run(launch)
  expect(message).toBe('')
  return new Uint32Array(buffers[0]!)
}

const ORDERS: readonly Record<string, string>[] = [
  {},
  { CAIRN_EMULATOR_SEED: '1' },
  { CAIRN_EMULATOR_SEED: '2' },
]

describe('kernels without a fault', () => {
  test('a product with A in registers', () => {
    expect(new Float32Array(words(products()).buffer)).toEqual(new Float32Array(128).fill(16))
    // Two warpgroups use the same right operand.
    expect(new Float32Array(words(products([], 256)).buffer)).toEqual(new Float32Array(256).fill(16))
  })

  test.each(ORDERS)('blocks of a cluster exchange shared memory, with %o', env => {
    const expected = Uint32Array.from({ length: 256 }, (_, at) => ((at >> 6) ^ 1) * 1000 + (at & 63))
    expect(words(exchange([], [4], { env }))).toEqual(expected)
    const generic = exchange(
      [
        [
          'mapa.shared::cluster.u32 %r9, %r6, %r8;',
          'cvt.u64.u32 %rd3, %r6; cvta.shared.u64 %rd4, %rd3; mapa.u64 %rd5, %rd4, %r8;',
        ],
        ['ld.shared::cluster.u32 %r10, [%r9];', 'ld.u32 %r10, [%rd5];'],
      ],
      [4],
      { env },
    )
    expect(words(generic)).toEqual(expected)
  })

  test('atomic operations on another block, and its rank by address', () => {
    const added = exchange([
      [
        'ld.shared::cluster.u32 %r10, [%r9];',
        'atom.shared::cluster.add.u32 %r10, [%r9], 5; getctarank.shared::cluster.u32 %r12, %r9;',
      ],
      ['st.shared.u32 [%r6], 0;', 'ld.shared.u32 %r10, [%r6]; add.u32 %r10, %r10, %r12;'],
    ])
    expect(words(added)).toEqual(
      Uint32Array.from({ length: 256 }, (_, at) => (at >> 6) * 1000 + (at & 63) + 5 + (((at >> 6) & 1) ^ 1)),
    )
  })

  test('the special registers of clusters', () => {
    const places = [
      'clusterid.x',
      'nclusterid.x',
      'cluster_ctaid.y',
      'cluster_nctaid.y',
      'cluster_nctarank',
      'cluster_ctarank',
    ]
    const read = places.map(
      (name, k) => `mov.u32 %r${20 + k}, %${name}; mad.lo.u32 %r10, %r10, 10, %r${20 + k};`,
    )
    const launch = exchange(
      [
        ['.reqnctapercluster 2, 1, 1', '.reqnctapercluster 1, 2, 1'],
        [
          'mov.u32 %r4, %ctaid.x;',
          'mov.u32 %r12, %ctaid.x; mov.u32 %r13, %ctaid.y; mad.lo.u32 %r4, %r13, 3, %r12;',
        ],
        ['st.shared.u32 [%r6], 0;', `mov.u32 %r10, 0; ${read.join(' ')}`],
      ],
      [3, 2],
    )
    // In the order of blocks: digits of the six registers.
    expect([...words(launch)].filter((_, at) => at % 64 === 0)).toEqual([
      30_220, 130_220, 230_220, 31_221, 131_221, 231_221,
    ])
  })

  test('registers move from a producer to its consumers', () => {
    expect(words(registers())).toEqual(Uint32Array.from({ length: 384 }, (_, at) => at >> 7))
  })

  test('a launch that waits for the one before it', () => {
    const twice = new Uint32Array(64).fill(2, 0, 32)
    expect(words(dependent())).toEqual(twice)
    // Without launch_dependents the second starts after the first has ended.
    const alone = dependent([['griddepcontrol.launch_dependents;', '']])
    expect(words(alone)).toEqual(twice)
  })

  test('one elected lane, and rows of stmatrix', () => {
    expect(words(elected())).toEqual(
      Uint32Array.from({ length: 32 }, (_, at) => (at ^ 1) + ((at ^ 1) === 0 ? 100 : 0)),
    )
  })
})

describe('reports a planted fault', () => {
  test.each([...PRODUCT_FAULTS, ...WARP_FAULTS, ...CLUSTER_FAULTS])('$name', ({ launch, says }) => {
    const { status, error, message } = card.run(launch)
    expect(message).toMatch(says)
    expect(error).toMatch(/CUDA_ERROR_/)
    expect(status).not.toBe(0)
  })

  test.each(CLUSTER_FAULTS.filter(({ name }) => /barrier between|overwritten|ends before/.test(name)))(
    'in every order of warps: $name',
    ({ launch, says }) => {
      for (const seed of ['1', '2', '3']) {
        const env = { ...launch.env, CAIRN_EMULATOR_SEED: seed }
        expect(card.run({ ...launch, env }).message).toMatch(says)
      }
    },
  )
})
