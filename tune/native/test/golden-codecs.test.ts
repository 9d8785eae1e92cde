/**
 * Our codecs against torch's float8 casts and bitsandbytes' NF4; reference/make_codecs.py wrote the golden
 * file.
 */
import { expect, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { decodeMinifloat, dequantize, dynamicMap, encodeMinifloat, partsOf, quantize } from '@cairn-tune/ops'

type Float8 = { numbers: string; values: string; codes: string }
type Golden = {
  e4m3: Float8
  e5m2: Float8
  nf4: {
    shape: [number, number]
    x: string
    codes: string
    absmax: string
    plain: string
    scale_codes: string
    group_scales: string
    offset: number
    map: string
    double: string
  }
}
const golden = JSON.parse(readFileSync(new URL('golden/codecs.json', import.meta.url), 'utf8')) as Golden
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'))
const floats = (text: string) => new Float32Array(bytes(text).buffer)

test.each(['e4m3', 'e5m2'] as const)('%s decodes and encodes like torch', name => {
  const { numbers, values, codes } = golden[name]
  const special = new Map([
    [Math.fround(-1e30), NaN],
    [Math.fround(1e30), Infinity],
    [Math.fround(-1e29), -Infinity],
  ])
  expect(Array.from({ length: 256 }, (_, code) => decodeMinifloat(name, code))).toEqual(
    Array.from(floats(numbers), number => special.get(number) ?? number),
  )
  expect(Array.from(floats(values), value => encodeMinifloat(name, value))).toEqual(Array.from(bytes(codes)))
})

const { nf4 } = golden
const buffer = quantize(floats(nf4.x), 'nf4', nf4.shape)
const part = (name: string) => {
  const { offset = 0, bytes: length = 0 } = partsOf('nf4', nf4.shape).find(one => one.name === name) ?? {}
  return buffer.slice(offset, offset + length)
}

test('nf4 codes match bitsandbytes', () => {
  expect(Array.from(part('codes'))).toEqual(Array.from(bytes(nf4.codes)))
})

test('the map of nf4 block scales matches bitsandbytes', () => {
  expect(dynamicMap()).toEqual(floats(nf4.map))
})

test('nf4 with double quantisation has the scale codes and decoded values of bitsandbytes', () => {
  expect(Array.from(part('scale_codes'))).toEqual(Array.from(bytes(nf4.scale_codes)))
  expect(new Float32Array(part('offset').buffer)[0]).toBeCloseTo(nf4.offset, 8)
  const ours = dequantize(buffer, 'nf4', nf4.shape)
  const worst = floats(nf4.double).reduce(
    (max, value, i) => Math.max(max, Math.abs(value - (ours[i] ?? NaN))),
    0,
  )
  // bitsandbytes sums the mean of the block scales in another order: one unit in the last place of a scale of
  // 0.15.
  expect(worst).toBeLessThan(1.5e-8)
})
