import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCard, type Card } from './card.ts'
import {
  depthOf,
  expectedOf,
  groupLaunch,
  rowsOf,
  type Format,
  type Numbers,
  type Product,
  type Swizzle,
} from './group-products.ts'

let card: Card
beforeAll(async () => {
  card = await openCard()
})
afterAll(() => card[Symbol.dispose]())

function check(product: Product): void {
  const { message, buffers } = card.run(groupLaunch(product))
  expect(message).toBe('')
  expect(rowsOf(buffers[2]!, product.columns)).toEqual(expectedOf(product))
}

const SWIZZLES: readonly Swizzle[] = [16, 32, 64, 128]
const EIGHTS = Array.from({ length: 32 }, (_, k) => (k + 1) * 8)
const pairs = [
  ['e4m3', 'e4m3'],
  ['e4m3', 'e5m2'],
  ['e5m2', 'e4m3'],
  ['e5m2', 'e5m2'],
] as const satisfies readonly (readonly [Format, Format])[]

describe('wgmma multiplies every shape', () => {
  test.each(EIGHTS)('of %i columns', columns => {
    const [a, b] = pairs[(columns / 8) % 4]!
    check({ columns, a: 'bf16', b: 'bf16', aSwizzle: 128, bSwizzle: SWIZZLES[(columns / 8) % 4]! })
    check({ columns, a, b, aSwizzle: 64, bSwizzle: SWIZZLES[(columns / 8 + 1) % 4]! })
  })

  test.each(pairs.flatMap(([a, b]) => SWIZZLES.map(swizzle => [a, b, swizzle] as const)))(
    'of %s and %s in rows of %i bytes',
    (a, b, swizzle) => check({ columns: 40, a, b, aSwizzle: swizzle, bSwizzle: swizzle }),
  )

  test.each(SWIZZLES)('of f16 and tf32 in rows of %i bytes', swizzle => {
    check({ columns: 24, a: 'f16', b: 'f16', aSwizzle: swizzle, bSwizzle: swizzle })
    check({ columns: 24, a: 'tf32', b: 'tf32', aSwizzle: swizzle, bSwizzle: swizzle })
  })

  test.each(
    SWIZZLES.flatMap(swizzle =>
      [
        [true, false],
        [false, true],
        [true, true],
      ].map(([aAcross, bAcross]) => [swizzle, aAcross!, bAcross!] as const),
    ),
  )('with rows of %i bytes across k (A: %s, B: %s)', (swizzle, aAcross, bAcross) =>
    check({ columns: 136, a: 'bf16', b: 'bf16', aSwizzle: swizzle, bSwizzle: swizzle, aAcross, bAcross }),
  )

  test.each(['bf16', 'f16', 'tf32', 'e4m3', 'e5m2'] as const)('with A of %s in registers', format => {
    check({ columns: 16, a: format, b: format, aSwizzle: 'registers', bSwizzle: 128 })
    const bAcross = depthOf(format) === 16
    check({ columns: 64, a: format, b: format, aSwizzle: 'registers', bSwizzle: 32, bAcross })
  })
})

describe('sums of fp8 with CAIRN_EMULATOR_FP8_SUMS=14', () => {
  const product: Product = { columns: 8, a: 'e4m3', b: 'e4m3', aSwizzle: 128, bSwizzle: 128 }
  const cut = { ...product, env: { CAIRN_EMULATOR_FP8_SUMS: '14' } }
  // 4096 has its last of 14 bits at 0.5.
  const sum = (of: Product, first: number, rest: number): number => {
    const left: Numbers = (_, k) => (k === 0 ? first : rest)
    const right: Numbers = (_, k) => (k === 0 ? first : 1)
    const { message, buffers } = card.run(groupLaunch(of, left, right))
    expect(message).toBe('')
    return rowsOf(buffers[2]!, 8)[0]!
  }

  test('keep terms of the last bit and drop smaller ones', () => {
    expect(sum(cut, 64, 0.5)).toBe(4096 + 31 * 0.5)
    expect(sum(cut, 64, 0.25)).toBe(4096)
    expect(sum(product, 64, 0.25)).toBe(4096 + 31 * 0.25)
  })

  test('equal f32 where nothing is dropped, and apply to fp8 only', () => {
    check(cut)
    check({ ...cut, a: 'bf16', b: 'bf16' })
  })
})
