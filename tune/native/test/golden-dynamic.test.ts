/**
 * The 8-bit maps and blocks of optimizer states against bitsandbytes; reference/make_dynamic.py wrote the
 * golden file.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dynamicMap, partsOf, quantize } from '@cairn-tune/ops'

type Blocks = { map: string; x: string; codes: string; scales: string }
const golden = JSON.parse(readFileSync(new URL('golden/dynamic.json', import.meta.url), 'utf8')) as {
  signed: Blocks
  unsigned: Blocks
}
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, 'base64'))
const floats = (text: string) => new Float32Array(bytes(text).buffer)

/** Promise T4: AdamW's 8-bit states use the maps of bitsandbytes. */
test.each([
  ['signed', 'dynamic8'],
  ['unsigned', 'dynamic8_unsigned'],
] as const)(
  'the %s map and its scales match bitsandbytes bit for bit, and no code is farther off',
  (sign, dtype) => {
    const { map, x, codes, scales } = golden[sign]
    const table = dynamicMap(sign === 'signed')
    expect(table).toEqual(floats(map))
    const values = floats(x)
    const buffer = quantize(values, dtype, [values.length])
    const [first, second] = partsOf(dtype, [values.length])
    const blockScales = new Float32Array(buffer.slice(second!.offset, second!.offset + second!.bytes).buffer)
    expect(Array.from(blockScales)).toEqual(Array.from(floats(scales)))
    // The CPU code of bitsandbytes searches codes coarsely and misses the nearest code of small numbers; ours
    // is the nearest, as their definition requires.
    const theirs = bytes(codes)
    const distance = (i: number, code: number) =>
      Math.abs((table[code] ?? NaN) - Math.fround((values[i] ?? 0) / (blockScales[Math.floor(i / 256)] ?? 0)))
    for (let i = 0; i < values.length; i++)
      expect(distance(i, buffer[first!.offset + i]!)).toBeLessThanOrEqual(distance(i, theirs[i]!))
  },
)
