/** The columns of an Arrow record batch as functions from a row to its value. */
import { zstdDecompressSync } from 'node:zlib'
import {
  bigIntOf,
  binaryValue,
  dateValue,
  decimalValue,
  floatValue,
  integerValue,
  jsonValue,
  structValue,
  timeValue,
  timestampValue,
  type TimeUnit,
} from './column-values.ts'
import type { Table } from './flatbuffer.ts'
import { decompressLz4Frame } from './lz4.ts'

export type Field = {
  name: string
  /** Number of the type in Arrow's schema. */
  kind: number
  type: Table | undefined
  dictionary: number | undefined
  /** The type of the indices into the dictionary. */
  index: Table | undefined
  children: Field[]
  isJson: boolean
}
export type Dictionaries = Map<number, unknown[]>
type Column = (row: number) => unknown

export function readField(table: Table): Field {
  const encoding = table.table(4)
  const metadata = table.tables(6).map(pair => [pair.text(0), pair.text(1)] as const)
  return {
    name: table.text(0),
    kind: table.int(2, 8),
    type: table.table(3),
    dictionary: encoding?.int(0, 64),
    index: encoding?.table(1),
    children: table.tables(5).map(readField),
    isJson: metadata.some(([key, value]) => key === 'ARROW:extension:name' && value === 'arrow.json'),
  }
}

/** What remains to be read of a batch: columns take their parts in order. */
type Batch = {
  rows: () => number
  buffer: () => DataView
  variadic: () => number
  dictionaries: Dictionaries
}

export function readColumns(
  fields: readonly Field[],
  header: Table,
  body: Uint8Array,
  dictionaries: Dictionaries,
): Column[] {
  const nodes = header.pairs(1)
  const buffers = header.pairs(2)
  const counts = header.longs(4)
  const compression = header.table(3)
  const codec = compression?.int(0, 8)
  let [node, buffer, count] = [0, 0, 0]
  const batch: Batch = {
    rows: () => nodes[node++]?.[0] ?? missing('column'),
    buffer() {
      const [offset, length] = buffers[buffer++] ?? missing('buffer')
      if (offset + length > body.byteLength) throw new Error('a buffer ends behind its batch')
      const stored = body.subarray(offset, offset + length)
      const bytes = codec === undefined || length === 0 ? stored : decompress(stored, codec)
      return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    },
    variadic: () => counts[count++] ?? 0,
    dictionaries,
  }
  return fields.map(field => columnOf(field, batch))
}

function missing(what: string): never {
  throw new Error(`a batch has fewer parts than its schema: no ${what}`)
}

/** A compressed buffer starts with its size, or −1 if it is stored as it is. */
function decompress(stored: Uint8Array, codec: number): Uint8Array {
  const size = Number(new DataView(stored.buffer, stored.byteOffset).getBigInt64(0, true))
  const packed = stored.subarray(8)
  if (size === -1) return packed
  return codec === 0 ? decompressLz4Frame(packed, size) : new Uint8Array(zstdDecompressSync(packed))
}

const UNITS: readonly TimeUnit[] = ['s', 'ms', 'us', 'ns']

function columnOf(field: Field, batch: Batch): Column {
  const plain = field.dictionary === undefined ? valuesOf(field, batch) : indexed(field, batch)
  return field.isJson ? row => jsonValue(plain(row)) : plain
}

function indexed({ dictionary = 0, index }: Field, batch: Batch): Column {
  batch.rows()
  const isValid = validity(batch.buffer())
  const indices = integers(batch.buffer(), index?.int(0, 32, 32) ?? 32, (index?.int(1, 8, 1) ?? 1) !== 0)
  const values = batch.dictionaries.get(dictionary) ?? []
  return row => (isValid(row) ? (values[Number(indices(row))] ?? null) : null)
}

function validity(bits: DataView): (row: number) => boolean {
  if (bits.byteLength === 0) return () => true
  return row => ((bits.getUint8(row >> 3) >> (row & 7)) & 1) === 1
}

function integers(data: DataView, bits: number, isSigned: boolean): (row: number) => number | bigint {
  if (bits === 8) return row => (isSigned ? data.getInt8(row) : data.getUint8(row))
  if (bits === 16) return row => (isSigned ? data.getInt16(2 * row, true) : data.getUint16(2 * row, true))
  if (bits === 32) return row => (isSigned ? data.getInt32(4 * row, true) : data.getUint32(4 * row, true))
  return row => (isSigned ? data.getBigInt64(8 * row, true) : data.getBigUint64(8 * row, true))
}

const bytesOf = (data: DataView, start: number, end: number): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset + start, end - start)

/** The values of a column by its type. Every column but one of nulls starts with its validity. */
function valuesOf(field: Field, batch: Batch): Column {
  const rows = batch.rows()
  const { kind, type, children } = field
  if (kind === 1) return () => null
  const isValid = validity(batch.buffer())
  const read = readerOf(kind, type, children, batch, rows)
  if (!read) throw new Error(`column ${field.name}: values of Arrow's type ${kind} cannot be read`)
  return row => (isValid(row) ? read(row) : null)
}

function readerOf(
  kind: number,
  type: Table | undefined,
  children: readonly Field[],
  batch: Batch,
  rows: number,
): Column | undefined {
  const own = (field: number, bits: 8 | 16 | 32, fallback = 0) => type?.int(field, bits, fallback) ?? fallback
  const long = (data: DataView) => integers(data, 64, true) as (row: number) => bigint
  switch (kind) {
    case 2: {
      const read = integers(batch.buffer(), own(0, 32), own(1, 8) !== 0)
      return row => integerValue(read(row))
    }
    case 3: {
      const precision = own(0, 16)
      const data = batch.buffer()
      if (precision === 0) return row => floatValue(data.getFloat16(2 * row, true))
      if (precision === 1) return row => floatValue(data.getFloat32(4 * row, true))
      return row => floatValue(data.getFloat64(8 * row, true))
    }
    case 4: // Binary
    case 5: // Utf8
    case 19: // LargeBinary
    case 20: {
      const offsets = integers(batch.buffer(), kind < 10 ? 32 : 64, true)
      const data = batch.buffer()
      return row => binaryValue(bytesOf(data, Number(offsets(row)), Number(offsets(row + 1))))
    }
    case 6: {
      const bits = validity(batch.buffer())
      return rows === 0 ? () => false : bits
    }
    case 7: {
      const [scale, width] = [own(1, 32), own(2, 32, 128) / 8]
      const data = batch.buffer()
      return row => decimalValue(bigIntOf(bytesOf(data, width * row, width * (row + 1)).toReversed()), scale)
    }
    case 8: {
      const isMilliseconds = own(0, 16, 1) === 1
      const read = integers(batch.buffer(), isMilliseconds ? 64 : 32, true)
      return row => dateValue(isMilliseconds ? Number(read(row)) / 86_400_000 : Number(read(row)))
    }
    case 9: {
      const unit = UNITS[own(0, 16, 1)] ?? 'ms'
      const read = integers(batch.buffer(), own(1, 32, 32), true)
      return row => timeValue(BigInt(read(row)), unit)
    }
    case 10: {
      const unit = UNITS[own(0, 16)] ?? 's'
      const zone = type?.text(1) ?? ''
      const read = long(batch.buffer())
      return row => timestampValue(read(row), unit, zone === '' ? undefined : zone)
    }
    case 12: // List
    case 21: // LargeList
    case 17: {
      const offsets = integers(batch.buffer(), kind === 21 ? 64 : 32, true)
      const [child] = children
      const item = child ? columnOf(child, batch) : missing('child')
      const list: (row: number) => unknown[] = row => {
        const start = Number(offsets(row))
        return Array.from({ length: Number(offsets(row + 1)) - start }, (_, i) => item(start + i))
      }
      return kind === 17 ? row => mapOf(list(row), child) : list
    }
    case 13: {
      const columns = children.map(child => [child.name, columnOf(child, batch)] as const)
      return row => structValue(columns.map(([name, valueAt]) => [name, valueAt(row)] as const))
    }
    case 15: {
      const width = own(0, 32)
      const data = batch.buffer()
      return row => binaryValue(bytesOf(data, width * row, width * (row + 1)))
    }
    case 16: {
      const size = own(0, 32)
      const [child] = children
      const item = child ? columnOf(child, batch) : missing('child')
      return row => Array.from({ length: size }, (_, i) => item(row * size + i))
    }
    case 23: // BinaryView
    case 24:
      return views(batch)
    default:
      return undefined
  }
}

/** The entries of a map, which Arrow stores as structs of a key and a value. */
function mapOf(entries: readonly unknown[], entry: Field | undefined): Record<string, unknown> {
  const [key = 'key', value = 'value'] = entry?.children.map(({ name }) => name) ?? []
  return Object.fromEntries(
    entries.map(one => {
      const pair = one as Record<string, unknown>
      return [String(pair[key]), pair[value] ?? null]
    }),
  )
}

/** Texts of up to 12 bytes lie in their view, longer ones in one of the buffers behind it. */
function views(batch: Batch): Column {
  const view = batch.buffer()
  const data = Array.from({ length: batch.variadic() }, () => batch.buffer())
  return row => {
    const at = 16 * row
    const length = view.getInt32(at, true)
    if (length <= 12) return binaryValue(bytesOf(view, at + 4, at + 4 + length))
    const buffer = data[view.getInt32(at + 8, true)] ?? missing('buffer')
    const start = view.getInt32(at + 12, true)
    return binaryValue(bytesOf(buffer, start, start + length))
  }
}
