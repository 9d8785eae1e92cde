import { mkdtemp, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCheckpoint } from './open-checkpoint.ts'
import { decodeFloats, encodeFloats } from './float-values.ts'
import { checkTensor, openSafetensors } from './safetensors.ts'
import { SAFETENSORS_DTYPES, byteLengthOf } from './safetensors-header.ts'
import { writeCheckpoint, writeSafetensors, type TensorToWrite } from './safetensors-writer.ts'

const golden = fileURLToPath(new URL('../test/reference/numpy.safetensors', import.meta.url))
let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-weights-'))
})
afterAll(() => rm(directory, { recursive: true }))

const bytesOf = (array: Float32Array | BigInt64Array | Int32Array | Float16Array) =>
  new Uint8Array(array.buffer)
const sameAsGolden: TensorToWrite[] = [
  {
    name: 'b.weight',
    dtype: 'F32',
    shape: [2, 3],
    bytes: bytesOf(Float32Array.from({ length: 6 }, (_, i) => Math.fround(i) / Math.fround(7))),
  },
  { name: 'a.weight', dtype: 'F16', shape: [1, 2], bytes: bytesOf(Float16Array.of(1.5, -2)) },
  { name: 'ids', dtype: 'I64', shape: [3], bytes: bytesOf(BigInt64Array.of(1n, -1n, 2n ** 40n)) },
  { name: 'ă.bytes', dtype: 'U8', shape: [5], bytes: Uint8Array.of(0, 1, 2, 3, 4) },
  { name: 'empty', dtype: 'F32', shape: [0, 4], bytes: new Uint8Array() },
  { name: 'scalar', dtype: 'I32', shape: [], bytes: () => Promise.resolve(bytesOf(Int32Array.of(3))) },
]

/** A file with this header and this many bytes of data. */
async function writeRaw(name: string, header: unknown, dataBytes: number): Promise<string> {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header))
  const file = new Uint8Array(8 + json.byteLength + dataBytes)
  new DataView(file.buffer).setBigUint64(0, BigInt(json.byteLength), true)
  file.set(json, 8)
  const path = join(directory, name)
  await writeFile(path, file)
  return path
}

test('writes the same bytes as the Python library', async () => {
  const path = join(directory, 'same.safetensors')
  await writeSafetensors(path, sameAsGolden)
  expect(Buffer.compare(await readFile(path), await readFile(golden))).toBe(0)
})

test('reads a file of the Python library', async () => {
  const file = await openSafetensors(golden)
  expect(file.metadata).toEqual({ format: 'pt' })
  expect([...file.tensors.keys()].toSorted()).toEqual([
    'a.weight',
    'b.weight',
    'empty',
    'ids',
    'scalar',
    'ă.bytes',
  ])
  expect(decodeFloats('F16', await file.read('a.weight'))).toEqual(Float32Array.of(1.5, -2))
  expect(decodeFloats('F32', await file.readRows('b.weight', 1, 2))).toEqual(
    Float32Array.of(3 / 7, 4 / 7, 5 / 7),
  )
  expect(await file.read('empty')).toEqual(new Uint8Array())
  await expect(file.read('c')).rejects.toThrow('has no tensor "c"')
  await expect(file.readRows('b.weight', 1, 3)).rejects.toThrow('rows 1 to 3')
  expect(() => checkTensor(file.path, file.tensors.get('a.weight')!, ['BF16', 'F32'])).toThrow(
    /tensor "a.weight" must have dtype BF16 or F32, got F16/,
  )
  expect(() => checkTensor(file.path, file.tensors.get('a.weight')!, ['F16'], [2, 2])).toThrow(
    /must have shape \(2, 2\), got \(1, 2\)/,
  )
  await file.close()
})

test('every dtype survives writing and reading', async () => {
  const path = join(directory, 'all.safetensors')
  const tensors = SAFETENSORS_DTYPES.map((dtype, i): TensorToWrite => ({
    name: dtype,
    dtype,
    shape: [2, 4],
    bytes: new Uint8Array(byteLengthOf(dtype, [2, 4])).fill(i + 1),
  }))
  await writeSafetensors(path, tensors)
  const file = await openSafetensors(path)
  for (const { name, dtype, bytes } of tensors) {
    expect(file.tensors.get(name)).toMatchObject({ dtype, shape: [2, 4] })
    expect(await file.read(name)).toEqual(bytes)
  }
  await file.close()
})

test('floats survive each dtype that can represent them', () => {
  const values = Float32Array.of(0, -1.5, 448, 2 ** -6)
  for (const dtype of ['F32', 'BF16', 'F16'] as const)
    expect(decodeFloats(dtype, encodeFloats(dtype, values))).toEqual(values)
  expect(decodeFloats('F8_E4M3', Uint8Array.of(0, 0xbc, 0x7e, 0x08))).toEqual(values)
  expect(decodeFloats('F8_E5M2', Uint8Array.of(0xbe))).toEqual(Float32Array.of(-1.5))
  expect(decodeFloats('F64', new Uint8Array(Float64Array.of(0.5).buffer))).toEqual(Float32Array.of(0.5))
})

test('decodes bytes that are not aligned to the element size', () => {
  const stored = new Uint8Array(9)
  stored.set(new Uint8Array(Float32Array.of(1.25, -3).buffer), 1)
  expect(decodeFloats('F32', stored.subarray(1))).toEqual(Float32Array.of(1.25, -3))
})

const entry = (dtype: string, shape: unknown, offsets: unknown) => ({ dtype, shape, data_offsets: offsets })

describe('rejects a damaged file with its name and tensor:', () => {
  test.each([
    ['no length', 'empty', undefined, 0, /not a safetensors file: it has 0 bytes/],
    [
      'cut data',
      'cut',
      { w: entry('F32', [4], [0, 16]) },
      12,
      /truncated: tensor "w" ends at byte \d+, but the file has/,
    ],
    [
      'an overlap',
      'overlap',
      { a: entry('U8', [4], [0, 4]), b: entry('U8', [4], [2, 6]) },
      6,
      /tensor "b" starts at byte \d+ and overlaps tensor "a"/,
    ],
    [
      'a gap',
      'gap',
      { a: entry('U8', [4], [0, 4]), b: entry('U8', [4], [6, 10]) },
      10,
      /2 bytes before tensor "b" do not belong to a tensor/,
    ],
    [
      'bytes left over',
      'over',
      { a: entry('U8', [4], [0, 4]) },
      7,
      /3 bytes after tensor "a" do not belong to a tensor/,
    ],
    [
      'an unknown dtype',
      'dtype',
      { a: entry('F7', [4], [0, 4]) },
      4,
      /tensor "a": unknown dtype "F7"; known: BOOL/,
    ],
    [
      'a size that does not fit',
      'size',
      { a: entry('F32', [4], [0, 4]) },
      4,
      /tensor "a": \(4\) of F32 takes 16 bytes, but data_offsets span 4/,
    ],
    [
      'a negative size',
      'negative',
      { a: entry('U8', [-4], [0, 4]) },
      4,
      /tensor "a": shape must be a list of sizes/,
    ],
    [
      'positions out of order',
      'order',
      { a: entry('U8', [4], [4, 0]) },
      4,
      /tensor "a": data_offsets must be two positions in order/,
    ],
    [
      'half a byte',
      'nibble',
      { a: entry('F4', [3], [0, 1]) },
      1,
      /tensor "a": \(3\) of F4 is not a whole number of bytes/,
    ],
    [
      'an enormous shape',
      'enormous',
      { a: entry('U8', [2 ** 40, 2 ** 40], [0, 1]) },
      1,
      /tensor "a": .* is not a whole number/,
    ],
    ['no JSON', 'json', '{"a":', 0, /its header is not JSON/],
    ['a list', 'list', '[]', 0, /its header is not a JSON object/],
    ['odd metadata', 'metadata', { __metadata__: { a: 1 } }, 0, /__metadata__ must be an object of strings/],
  ])('%s', async (_, name, header, dataBytes, message) => {
    const path = await writeRaw(name, header ?? '', dataBytes)
    if (header === undefined) await truncate(path, 0)
    await expect(openSafetensors(path)).rejects.toThrow(message)
    await expect(openSafetensors(path)).rejects.toThrow(path)
  })

  test('a header with a huge declared length, without reading it', async () => {
    const path = join(directory, 'huge')
    const bytes = new Uint8Array(64).fill(0x7f)
    await writeFile(path, bytes)
    await expect(openSafetensors(path)).rejects.toThrow(
      /its header would have \d+ bytes, more than the maximum of 100000000/,
    )
  })

  test('every truncation of a valid file', async () => {
    const whole = await readFile(golden)
    const path = join(directory, 'short')
    for (let length = 0; length < whole.byteLength; length += length < 16 ? 1 : 7) {
      await writeFile(path, whole.subarray(0, length))
      await expect(openSafetensors(path), `${length} bytes`).rejects.toThrow(
        /truncated|not a safetensors file/,
      )
    }
  })
})

const failToRead = () => Promise.reject(new Error('no more'))

test('a failed write keeps the existing file and leaves no other', async () => {
  const inside = await mkdtemp(join(directory, 'atomic-'))
  const path = join(inside, 'model.safetensors')
  await writeSafetensors(path, [{ name: 'a', dtype: 'U8', shape: [1], bytes: Uint8Array.of(7) }])
  const before = await readFile(path)
  await expect(
    writeSafetensors(path, [{ name: 'a', dtype: 'U8', shape: [1], bytes: failToRead }]),
  ).rejects.toThrow('no more')
  await expect(
    writeSafetensors(path, [{ name: 'a', dtype: 'F32', shape: [1], bytes: Uint8Array.of(7) }]),
  ).rejects.toThrow('takes 4 bytes, got 1')
  expect(await readdir(inside)).toEqual(['model.safetensors'])
  expect(await readFile(path)).toEqual(before)
})

test('reads a model in shards as one', async () => {
  const inside = await mkdtemp(join(directory, 'shards-'))
  const tensors = Array.from({ length: 5 }, (_, i): TensorToWrite => ({
    name: `t.${i}`,
    dtype: 'F32',
    shape: [4],
    bytes: encodeFloats('F32', new Float32Array(4).fill(i)),
  }))
  expect(await writeCheckpoint(inside, tensors, 32)).toEqual([
    'model-00001-of-00003.safetensors',
    'model-00002-of-00003.safetensors',
    'model-00003-of-00003.safetensors',
    'model.safetensors.index.json',
  ])
  expect(JSON.parse(await readFile(join(inside, 'model.safetensors.index.json'), 'utf8'))).toMatchObject({
    metadata: { total_size: 80 },
  })
  const model = await openCheckpoint(inside)
  for (let i = 0; i < 5; i++) expect(decodeFloats('F32', await model.read(`t.${i}`))[0]).toBe(i)
  expect(model.pathOf('t.4')).toContain('model-00003-of-00003')
  await model.close()

  await rm(join(inside, 'model-00002-of-00003.safetensors'))
  await expect(openCheckpoint(inside)).rejects.toThrow(/model-00002-of-00003.safetensors: no such file/)
  await writeSafetensors(join(inside, 'model-00002-of-00003.safetensors'), tensors.slice(2, 3))
  await expect(openCheckpoint(inside)).rejects.toThrow(
    'lists "t.3" in model-00002-of-00003.safetensors, but that file does not contain it',
  )
  await writeFile(join(inside, 'model.safetensors.index.json'), '{"weight_map":{"a":"../out.safetensors"}}')
  await expect(openCheckpoint(inside)).rejects.toThrow(
    'must be JSON with a weight_map from tensor names to names of files in the same directory',
  )
})

test('rejects a directory without weights and names the missing files', async () => {
  const inside = await mkdtemp(join(directory, 'none-'))
  await expect(openCheckpoint(inside)).rejects.toThrow(
    'contains neither model.safetensors nor model.safetensors.index.json',
  )
})
