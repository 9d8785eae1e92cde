/** Writing GGUF files, version 3. */
import { writeAll, writeAtomically } from '../atomic-file.ts'
import { DEFAULT_ALIGNMENT, MAGIC, VERSION } from './gguf-file.ts'
import { kindNumber } from './metadata.ts'
import { GGUF_TYPES, storedBytes, type GgufType } from './tensor-types.ts'

type Texts = readonly string[]
/** A value with the kind that readers of its key expect. */
export type MetadataValue =
  | { kind: 'uint32' | 'float32'; value: number }
  | { kind: 'bool'; value: boolean }
  | { kind: 'string'; value: string }
  | { kind: 'strings'; value: Texts }
  | { kind: 'int32s'; value: readonly number[] }

export const u32 = (value: number): MetadataValue => ({ kind: 'uint32', value })
export const f32 = (value: number): MetadataValue => ({ kind: 'float32', value })
export const bool = (value: boolean): MetadataValue => ({ kind: 'bool', value })
export const text = (value: string): MetadataValue => ({ kind: 'string', value })
export const texts = (value: Texts): MetadataValue => ({ kind: 'strings', value })

/**
 * `shape` has rows first; `bytes` may be a function, so that a model larger than memory is written tensor by
 * tensor.
 */
export type GgufTensorToWrite = {
  name: string
  type: GgufType
  shape: readonly number[]
  bytes: Uint8Array | (() => Uint8Array | Promise<Uint8Array>)
}
export type GgufToWrite = {
  metadata: Readonly<Record<string, MetadataValue>>
  tensors: readonly GgufTensorToWrite[]
}

const bytesOf = (array: Uint32Array | Int32Array | Float32Array | BigUint64Array) =>
  new Uint8Array(array.buffer)
const word = (value: number) => bytesOf(Uint32Array.of(value))
const long = (value: number) => bytesOf(BigUint64Array.of(BigInt(value)))
const textBytes = (value: string): Uint8Array[] => {
  const utf8 = new TextEncoder().encode(value)
  return [long(utf8.byteLength), utf8]
}
const kind = (name: string) => word(kindNumber(name))
const list = (name: string, length: number) => [kind('array'), kind(name), long(length)]

function valueBytes(given: MetadataValue): Uint8Array[] {
  switch (given.kind) {
    case 'uint32':
      return [kind('uint32'), word(given.value)]
    case 'float32':
      return [kind('float32'), bytesOf(Float32Array.of(given.value))]
    case 'bool':
      return [kind('bool'), Uint8Array.of(given.value ? 1 : 0)]
    case 'string':
      return [kind('string'), ...textBytes(given.value)]
    case 'strings':
      return [...list('string', given.value.length), ...given.value.flatMap(textBytes)]
    case 'int32s':
      return [...list('int32', given.value.length), bytesOf(Int32Array.from(given.value))]
  }
}

const elements = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)
const padding = (position: number) => (DEFAULT_ALIGNMENT - (position % DEFAULT_ALIGNMENT)) % DEFAULT_ALIGNMENT

function headOf({ metadata, tensors }: GgufToWrite): Uint8Array {
  const keys = Object.entries(metadata)
  const parts = [
    new TextEncoder().encode(MAGIC),
    word(VERSION),
    long(tensors.length),
    long(keys.length),
    ...keys.flatMap(([key, value]) => [...textBytes(key), ...valueBytes(value)]),
  ]
  let offset = 0
  for (const { name, type, shape } of tensors) {
    parts.push(...textBytes(name), word(shape.length), ...shape.toReversed().map(long))
    parts.push(word(GGUF_TYPES[type].id), long(offset))
    const bytes = storedBytes(type, elements(shape))
    offset += bytes + padding(bytes)
  }
  const head = Buffer.concat(parts)
  return Buffer.concat([head, Buffer.alloc(padding(head.byteLength))])
}

/** Writes one file, with tensors in the given order. It appears whole or not at all. */
export async function writeGguf(path: string, file: GgufToWrite): Promise<void> {
  const names = new Set(file.tensors.map(({ name }) => name))
  if (names.size !== file.tensors.length)
    throw new Error(`[writeGguf] ${path}: two tensors have the same name`)
  await writeAtomically(path, async handle => {
    await writeAll(handle, headOf(file))
    for (const { name, type, shape, bytes: given } of file.tensors) {
      const bytes = typeof given === 'function' ? await given() : given
      const wanted = storedBytes(type, elements(shape))
      if (bytes.byteLength !== wanted)
        throw new Error(
          `[writeGguf] ${name}: (${shape.join(', ')}) of ${type} takes ${wanted} bytes, got ` +
            `${bytes.byteLength}`,
        )
      await writeAll(handle, bytes)
      await writeAll(handle, new Uint8Array(padding(wanted)))
    }
  })
}
