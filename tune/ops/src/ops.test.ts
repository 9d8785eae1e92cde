import { expect, test } from 'vitest'
import { DTYPES, byteLength, partsOf } from './dtypes.ts'
import { OPS, OP_NAMES, specOf } from './ops.ts'

const dimsOf = (type: string) => (/\((.*)\)/.exec(type)?.[1] ?? '').split(/[ ,*]+/)

test('every type in the table parses, and every dimension of an output is known', () => {
  for (const name of OP_NAMES) {
    const spec = specOf(name)
    const letters = new Set([...Object.keys(spec.sizes ?? {}), ...Object.values(spec.inputs).flatMap(dimsOf)])
    for (const [key, type] of Object.entries({ ...spec.inputs, ...spec.outputs })) {
      expect(type, `${name}.${key}`).toMatch(
        /^(float|weight|f32|i32|dynamic8|dynamic8_unsigned|=\w+|@\w+) \(.+\)$/,
      )
    }
    for (const type of Object.values(spec.outputs)) {
      for (const dim of dimsOf(type))
        expect(/^\d+$/.test(dim) || letters.has(dim), `${name}: ${dim}`).toBe(true)
    }
    for (const [output, input] of Object.entries({ ...spec.inPlace, ...spec.overwrites })) {
      const source = spec.inputs[input] ?? spec.inputs[`${input}?`]
      expect(spec.outputs[output]?.replace(/^\S+ /, ''), name).toBe(source?.replace(/^\S+ /, ''))
    }
  }
})

test('a gradient op uses the names of the inputs and outputs of its op', () => {
  expect(Object.keys(OPS.rms_norm_grad.inputs)).toEqual(['dy', 'x', 'weight', 'rstd', 'addend?'])
  expect(Object.keys(OPS.attention_grad.inputs)).toEqual(['dy', 'q', 'k', 'v', 'y', 'lse', 'cu_seqlens'])
})

test('dtype codes are consecutive, because native code uses them as an index', () => {
  expect(Object.values(DTYPES).map(({ code }) => code)).toEqual(Object.keys(DTYPES).map((_, i) => i))
})

test.each([
  ['bf16', 2],
  ['fp8_tiles', 1 + 4 / 128 ** 2],
  ['nvfp4', 0.5 + 1 / 16],
  ['mxfp4', 0.5 + 1 / 32],
  ['nf4', 0.5 + 1 / 64 + 4 / (64 * 256)],
] as const)('%s takes %f bytes per weight', (dtype, bytes) => {
  const size = 4096
  expect(byteLength(dtype, [size, size]) / size ** 2).toBeCloseTo(bytes, 3)
})

test('parts of a quantised tensor start at aligned offsets and do not overlap', () => {
  const parts = partsOf('nf4', [3, 64])
  expect(parts).toEqual([
    { name: 'codes', offset: 0, bytes: 96 },
    { name: 'scale_codes', offset: 128, bytes: 3 },
    { name: 'group_scales', offset: 192, bytes: 4 },
    { name: 'offset', offset: 256, bytes: 4 },
    { name: 'scale_map', offset: 320, bytes: 1024 },
  ])
})
