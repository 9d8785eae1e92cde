import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, ptxOf, type Card } from './card.ts'
import { expectedSums, givenOf, scaledLaunch, sumsOf, type ScaledProduct } from './scaled-products.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

const NVFP4: ScaledProduct = { kind: 'mxf4nvf4', blocks: 4, scale: 'ue4m3', a: [0, 0], b: [0, 0] }
const MXFP4: ScaledProduct = { kind: 'mxf4', blocks: 2, scale: 'ue8m0', a: [0, 0], b: [0, 0] }
const FORMS = [
  NVFP4,
  { ...NVFP4, scale: 'ue8m0' },
  { ...MXFP4, kind: 'mxf4nvf4' },
  MXFP4,
] as const satisfies ScaledProduct[]
const named = (one: ScaledProduct) => ({ ...one, name: `${one.kind} ${one.blocks}X ${one.scale}` })

/** Every valid selector, as in Table 40 of the ISA. */
const SELECTORS = [0, 1].flatMap(threadA =>
  [0, 1, 2, 3].flatMap(threadB =>
    [0, 2].flatMap(byteA => [0, 2].map(byteB => ({ a: [byteA, threadA], b: [byteB, threadB] }) as const)),
  ),
)

function check(product: ScaledProduct): void {
  const { message, buffers } = card.run(scaledLaunch(product))
  expect(message).toBe('')
  expect(sumsOf(buffers[1]!)).toEqual(expectedSums(product, givenOf(product)))
}

/** Promise T1.2: The emulated card multiplies numbers of E2M1 with scales of blocks as the PTX ISA says. */
describe('mma with block_scale multiplies', () => {
  test.each(FORMS.map(named))('$name with every selector', form => {
    for (const { a, b } of SELECTORS) if (form.blocks === 2 || a[0] + b[0] === 0) check({ ...form, a, b })
  })

  test('with selectors in registers', () => {
    check({ ...NVFP4, a: [0, 1], b: [0, 3], inRegisters: true })
    check({ ...MXFP4, a: [2, 1], b: [0, 2], inRegisters: true })
  })

  test('ones by sixes with the smallest and the largest scale', () => {
    const given = { a: () => 2, b: () => 7, scalesA: () => 0x01, scalesB: () => 0x7e }
    const { buffers } = card.run(scaledLaunch(NVFP4, given))
    // 64 products of 1 · 2⁻⁹ and 6 · 448, on sums of row − 2 · column.
    expect(sumsOf(buffers[1]!).slice(0, 3)).toEqual([336, 334, 332])
    expect(sumsOf(buffers[1]!)[127]).toBe(336 + 15 - 14)
  })

  test('a scale of NaN as NaN, only in its row', () => {
    const given = { ...givenOf(NVFP4), scalesA: (row: number) => (row === 9 ? 0x7f : 0x38) }
    const sums = sumsOf(card.run(scaledLaunch(NVFP4, given)).buffers[1]!)
    expect(sums.map(Number.isNaN)).toEqual(sums.map((_, at) => at >> 3 === 9))
  })
})

const swapped = (from: string, to: string) => (ptx: string) => ptx.replace(from, to)

describe('a planted fault of mma with block_scale', () => {
  test.each([
    ['swapped halves of k of A', swapped('{%w0,%w1,%w2,%w3}', '{%w2,%w3,%w0,%w1}')],
    ['swapped rows of A', swapped('{%w0,%w1,%w2,%w3}', '{%w1,%w0,%w3,%w2}')],
    ['swapped halves of k of B', swapped('{%w4,%w5}', '{%w5,%w4}')],
    ['the scales of the other operand', swapped('%w10, {0,0}, %w11', '%w11, {0,0}, %w10')],
  ])('gives a wrong result: %s', (_, edit) => {
    const { buffers } = card.run(scaledLaunch({ ...NVFP4, edit }))
    expect(sumsOf(buffers[1]!)).not.toEqual(expectedSums(NVFP4, givenOf(NVFP4)))
  })

  const MMA = String.raw`kernel line \d+ \(mma\.sync\.aligned\.m16n8k64[.:\w]*\) .*`
  test.each([
    ['a wrong thread in a register', { ...NVFP4, a: [0, 2] }, 'thread-id-a is 2, which selects no scales'],
    ['a wrong byte in a register', { ...NVFP4, b: [2, 0] }, 'byte-id-b is 2, which selects no scales'],
    [
      'a selector that differs between lanes',
      { ...NVFP4, edit: swapped('mov.b16 %h3, 0;', 'cvt.u16.u32 %h3, %lane;') },
      'thread-id-b differs between lanes',
    ],
    [
      'a negative scale',
      { ...NVFP4, edit: swapped('mma.sync', 'or.b32 %w10, %w10, 0x80;\nmma.sync') },
      'a scale has its highest bit set, which ue4m3 does not have',
    ],
    [
      'a part of the warp',
      {
        ...NVFP4,
        edit: swapped('mma.sync', '.reg .pred %p;\nsetp.gt.u32 %p, %lane, 30;\n@%p bra OVER;\nmma.sync'),
        after: true,
      },
      'missing|reached|needs all 32 lanes',
    ],
  ] as const)('is reported: %s', (_, product, says) => {
    const launch = scaledLaunch({ ...product, inRegisters: true })
    const ptx = 'after' in product ? launch.ptx.replace('st.global.v4', 'OVER: st.global.v4') : launch.ptx
    const { message, status } = card.run({ ...launch, ptx })
    expect(message).toMatch(new RegExp(`${MMA}(${says})`))
    expect(status).not.toBe(0)
  })
})

describe('loading a module rejects, with its name and line,', () => {
  const rejects = (product: ScaledProduct, says: RegExp) => {
    const { error, message } = card.run(scaledLaunch(product))
    expect(error).toBe('cuModuleLoadData: CUDA_ERROR_INVALID_PTX')
    expect(message).toMatch(says)
  }

  test.each([
    [{ ...NVFP4, a: [1, 0] }, 'byte-id-a is 1'],
    [{ ...NVFP4, b: [2, 0] }, 'byte-id-b is 2'],
    [{ ...MXFP4, a: [1, 0] }, 'byte-id-a is 1'],
    [{ ...NVFP4, a: [0, 2] }, 'thread-id-a is 2'],
    [{ ...NVFP4, b: [0, 4] }, 'thread-id-b is 4'],
  ] as const)('a selector of no scales: %o', (product, says) =>
    rejects(product, new RegExp(String.raw`PTX line \d+: ${says}, which selects no scales`)),
  )

  test.each(['sm_120', 'sm_90', 'sm_80'])('block_scale on %s', target =>
    rejects(
      { ...NVFP4, target },
      new RegExp(`line \\d+: mma\\..* needs sm_120a, and the target is ${target}`),
    ),
  )

  test.each([
    ['scale_vec::4X', 'scale_vec::2X', /kind, scale_vec and type of scales do not fit in mma\./],
    ['.scale_vec::4X', '', /kind, scale_vec and type of scales do not fit in mma\./],
    ['kind::mxf4nvf4', 'kind::mxf8f6f4', /has no modifier|does not know|kind::mxf8f6f4/],
    ['m16n8k64', 'm16n8k32', /scales blocks only in m16n8k64\.row\.col\.f32\.e2m1\.e2m1\.f32, not in mma\./],
  ])('%s as %s', (from, to, says) => rejects({ ...NVFP4, edit: swapped(from, to) }, says))

  test('what capability 12.0 lacks', () => {
    const load = (text: string, target: string) =>
      card.run({
        ptx: ptxOf(`${text}\nret;`, '.param .u64 out', target),
        kernel: 'kernel',
        args: [{ buffer: new Float32Array(1) }],
        env: { CAIRN_EMULATOR_CAPABILITY: '120' },
      }).message
    expect(load('wgmma.fence.sync.aligned;', 'sm_120a')).toMatch(
      /line \d+: wgmma\.fence\.sync\.aligned needs sm_90a, and the target is sm_120a/,
    )
    expect(load('tcgen05.wait::ld.sync.aligned;', 'sm_120a')).toMatch(/does not know tcgen05\.wait::ld/)
    expect(load('', 'sm_90a')).toMatch('the PTX is for sm_90a, and this card has compute capability 12.0')
    expect(load('', 'sm_120a')).toBe('')
  })
})
