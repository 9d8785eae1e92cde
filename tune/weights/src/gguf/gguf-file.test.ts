import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGguf, parseGguf, type GgufFile } from './gguf-file.ts'
import { GGUF_TYPE_NAMES, decodeGguf, encodeGguf } from './tensor-types.ts'

const golden = fileURLToPath(new URL('../../test/reference/gguf/types.gguf', import.meta.url))
let file: GgufFile
let whole: Buffer
let directory: string
beforeAll(async () => {
  file = await openGguf(golden)
  whole = await readFile(golden)
  directory = await mkdtemp(join(tmpdir(), 'cairn-gguf-'))
})
afterAll(async () => {
  await file.close()
  await rm(directory, { recursive: true })
})

const bytesOf = async (name: string) => file.read(file.tensors.get(name)!)
const bits = ({ buffer, byteOffset, length }: Float32Array) => new Uint32Array(buffer, byteOffset, length)

describe('a file written by the gguf package', () => {
  const shapes = GGUF_TYPE_NAMES.map(type => [type, ['F32', 'F16', 'BF16'].includes(type)] as const)

  /** Promise T3.3: A GGUF file decodes to the numbers of llama.cpp, bit for bit. */
  test.each(shapes)(
    '%s decodes to the values of the package, bit for bit, in every shape',
    async (type, isPlain) => {
      const own = [...file.tensors.values()].filter(
        ({ name }) => name.startsWith(`${type}.`) && !name.endsWith('.expected'),
      )
      expect(own.map(({ shape }) => shape.length)).toEqual([2, 2, 2])
      if (isPlain)
        expect(own.map(({ shape }) => shape)).toEqual([
          [1, 7],
          [3, 5],
          [2, 33],
        ])
      for (const tensor of own) {
        expect(tensor.type).toBe(type)
        const values = decodeGguf(type, await file.read(tensor))
        const expected = decodeGguf('F32', await bytesOf(`${tensor.name}.expected`))
        expect(values.length).toBe(tensor.shape.reduce((a, b) => a * b, 1))
        expect(bits(values.slice())).toEqual(bits(expected.slice()))
        // A changed code decodes to other values.
        const other = (await file.read(tensor)).slice()
        other[other.length - 1] = (other.at(-1) ?? 0) ^ 0x11
        expect(bits(decodeGguf(type, other).slice())).not.toEqual(bits(expected.slice()))
      }
    },
  )

  test('quantises Q8_0 to the same bytes', async () => {
    const values = decodeGguf('F32', await bytesOf('made.values'))
    expect(encodeGguf('Q8_0', values)).toEqual(await bytesOf('made.Q8_0').then(bytes => bytes.slice()))
    expect(() => encodeGguf('Q8_0', values.subarray(1))).toThrow('expected a multiple of 32 numbers, got 383')
  })

  test('reads metadata by kind and rejects another kind by key', () => {
    const { metadata } = file
    expect(metadata.text('general.architecture')).toBe('types')
    expect(metadata.texts('a.texts')).toEqual(['ă', '', 'b c'])
    expect(metadata.numbers('a.numbers')).toEqual([-1, 2, 300])
    expect(metadata.flag('a.flag')).toBe(true)
    expect(metadata.whole('a.large')).toBe(2 ** 40)
    expect(metadata.number('a.third')).toBe(Math.fround(1 / 3))
    expect(metadata.whole('none')).toBeUndefined()
    expect(() => metadata.whole('a.third')).toThrow(
      `${golden}: a.third must be a whole number, got float32 0.3333333432674408`,
    )
    expect(() => metadata.text('a.texts')).toThrow('a.texts must be a text, got an array of string')
    expect(() => metadata.texts('a.numbers')).toThrow(
      'a.numbers must be a list of texts, got an array of int32',
    )
    expect(() => metadata.needs('b', undefined)).toThrow(`${golden}: has no b`)
  })
})

describe('a damaged file', () => {
  const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer)
  const u64 = (value: number | bigint) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer)
  const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)])
  const header = (tensors: number | bigint, keys: number | bigint, version = 3) =>
    Buffer.concat([Buffer.from('GGUF'), u32(version), u64(tensors), u64(keys)])
  const entry = (name: string, shape: (number | bigint)[], type: number, offset: number) =>
    Buffer.concat([text(name), u32(shape.length), ...shape.map(u64), u32(type), u64(offset)])
  /** A padded header and the bytes of tensors. */
  const withData = (parts: Buffer[], bytes: number) => {
    const head = Buffer.concat(parts)
    return Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32), Buffer.alloc(bytes)])
  }
  const two = (first: Buffer, second: Buffer, bytes = 256) => withData([header(2, 0), first, second], bytes)
  const one = (tensor: Buffer, bytes = 256) => withData([header(1, 0), tensor], bytes)
  const key = (name: string, kind: number, value: Buffer) =>
    withData([header(0, 1), text(name), u32(kind), value], 0)

  const cases: [string, () => Buffer, string | RegExp][] = [
    ['other letters', () => Buffer.from('GGML0000'), 'not a GGUF file: begins with "GGML", expected "GGUF"'],
    ['two letters', () => Buffer.from('GG'), 'not a GGUF file: begins with "GG"'],
    ['version 1', () => header(0, 0, 1), 'has version 1; supported: 2 and 3'],
    ['big-endian', () => header(0, 0, 3 << 24), 'is big-endian'],
    [
      'no counts',
      () => header(0, 0).subarray(0, 12),
      /the header: reaches to byte 16, but the file ends at 12/,
    ],
    [
      'more tensors than bytes',
      () => header(2n ** 40n, 0),
      /a tensor count of 1099511627776 is impossible: each takes at least 24 bytes/,
    ],
    [
      'more keys than bytes',
      () => header(0, 2n ** 60n),
      /a metadata count of 1152921504606846976 is larger than any file/,
    ],
    [
      'a key longer than the file',
      () => Buffer.concat([header(0, 1), u64(2n ** 33n), Buffer.alloc(64)]),
      /metadata key 1 of 1: reaches to byte/,
    ],
    [
      'an array longer than the file',
      () => key('a', 9, Buffer.concat([u32(4), u64(2n ** 35n)])),
      /metadata "a": an array of 34359738368 is impossible/,
    ],
    [
      'an array of arrays',
      () => key('a', 9, Buffer.concat([u32(9), u64(1)])),
      /metadata "a": is an array of arrays/,
    ],
    ['a kind of value', () => key('a', 99, u64(0)), /metadata "a": unknown value type 99, expected 0 to 12/],
    [
      'text that is none',
      () => key('a', 8, Buffer.concat([u64(1), Buffer.of(0xff)])),
      /metadata "a": contains text that is not UTF-8/,
    ],
    [
      'a key twice',
      () => withData([header(0, 2), text('a'), u32(7), Buffer.of(1), text('a'), u32(7), Buffer.of(1)], 0),
      /metadata "a": occurs twice/,
    ],
    [
      'a part of a model',
      () => key('split.count', 2, Buffer.from(Uint16Array.of(3).buffer)),
      /is one of 3 parts of a model; join them first/,
    ],
    [
      'an alignment',
      () => key('general.alignment', 4, u32(24)),
      'general.alignment must be a power of two of at least 8, got 24',
    ],
    [
      'a type that is not read',
      () => one(entry('w', [256], 10, 0)),
      /tensor "w" has the unsupported type Q2_K; supported: F32, F16, BF16, Q8_0/,
    ],
    [
      'a type nobody knows',
      () => one(entry('w', [256], 77, 0)),
      /tensor "w" has the unsupported type number 77, which is unknown/,
    ],
    [
      'five dimensions',
      () => one(entry('w', [1, 1, 1, 1, 1], 0, 0)),
      /tensor "w": has 5 dimensions, expected 1 to 4/,
    ],
    [
      'half a block',
      () => one(entry('w', [48, 2], 8, 0)),
      /tensor "w": has rows of 48 elements, which are not a multiple of the block of 32 in Q8_0/,
    ],
    [
      'a huge tensor',
      () => one(entry('w', [2n ** 40n, 2n ** 40n], 0, 0)),
      /tensor "w": \(1099511627776, 1099511627776\) is larger than any file/,
    ],
    [
      'an offset between',
      () => one(entry('w', [4], 0, 4)),
      /tensor "w": is at offset 4, which is not a multiple of the alignment 32/,
    ],
    ['a tensor twice', () => two(entry('w', [4], 0, 0), entry('w', [4], 0, 32)), /tensor "w": occurs twice/],
    [
      'tensors that overlap',
      () => two(entry('v', [16], 0, 0), entry('w', [4], 0, 32)),
      /tensor "w" starts at byte 128 and overlaps "v", which ends at 160/,
    ],
    [
      'a tensor beyond the end',
      () => one(entry('w', [64], 0, 32), 32),
      /truncated: tensor "w" ends at byte 352, but the file has 96; download it again/,
    ],
  ]

  test.each(cases)('%s', (_, make, message) => {
    expect(() => parseGguf('x.gguf', make())).toThrow(message)
    expect(() => parseGguf('x.gguf', make())).toThrow(/^x\.gguf: /)
  })

  test('is rejected wherever it is truncated, and never read past its end', async () => {
    for (let length = 0; length < whole.length; length += length < 16_384 ? 61 : 997)
      expect(() => parseGguf('x.gguf', whole.subarray(0, length)), `${length} bytes`).toThrow(
        /^x\.gguf: .*(?:begins with|file ends at|left in the file|file has \d+; download)/,
      )
    const path = join(directory, 'cut.gguf')
    await writeFile(path, whole.subarray(0, 100))
    await expect(openGguf(path)).rejects.toThrow(`${path}: `)
    await writeFile(path, '')
    await expect(openGguf(path)).rejects.toThrow('begins with ""')
    await expect(openGguf(join(directory, 'none.gguf'))).rejects.toThrow('none.gguf: no such file')
  })

  /** Promise T3.3: A damaged GGUF file is rejected by path and tensor and never read past its end. */
  test('with any header byte changed is read or rejected by name, without a crash', () => {
    const head = whole.subarray(0, 6000)
    const seen = { read: 0, refused: 0 }
    for (let i = 0; i < head.length; i++) {
      const changed = Buffer.from(whole)
      changed[i] = (changed[i] ?? 0) ^ (1 << (i % 8))
      try {
        parseGguf('x.gguf', changed)
        seen.read++
      } catch (error) {
        expect(error, `byte ${i}`).toMatchObject({ message: expect.stringMatching(/^x\.gguf: /) as string })
        seen.refused++
      }
    }
    expect(seen.refused).toBeGreaterThan(1000)
    expect(seen.read).toBeGreaterThan(100)
  })
})
