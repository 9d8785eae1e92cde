/** Reads Parquet by row group. Values become those of JSON, by the types of the columns. */
import { open, type FileHandle } from 'node:fs/promises'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { InputError } from '@cairn-tune/weights'
import {
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type AsyncBuffer,
  type Compressors,
  type FileMetaData,
  type SchemaElement,
  type SchemaTree,
} from 'hyparquet'
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
  type Converter,
  type TimeUnit,
} from './column-values.ts'
import { decompressLz4Block, decompressParquetLz4 } from './lz4.ts'
import type { Row, RowStream } from './rows.ts'

const COMPRESSORS: Compressors = {
  GZIP: input => new Uint8Array(gunzipSync(input)),
  BROTLI: input => new Uint8Array(brotliDecompressSync(input)),
  ZSTD: input => new Uint8Array(zstdDecompressSync(input)),
  LZ4: decompressParquetLz4,
  LZ4_RAW: (input, size) => {
    const output = new Uint8Array(size)
    decompressLz4Block(input, output)
    return output
  },
}

/** A larger row group is decoded in parts. */
const MAX_DECODED_BYTES = 128 * 2 ** 20

export async function* readParquet(path: string): RowStream {
  const handle = await open(path)
  try {
    yield* readGroups(path, await bufferOf(handle))
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(
      `${path}: invalid Parquet file (${error instanceof Error ? error.message : String(error)})`,
      { cause: error },
    )
  } finally {
    await handle.close()
  }
}

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat()
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(end - start)
      for (let at = 0; at < bytes.byteLength;) {
        const { bytesRead } = await handle.read(bytes, at, bytes.byteLength - at, start + at)
        if (bytesRead === 0) throw new Error(`the file ends at byte ${start + at}`)
        at += bytesRead
      }
      return bytes.buffer
    },
  }
}

async function* readGroups(path: string, file: AsyncBuffer): RowStream {
  const metadata = await parquetMetadataAsync(file)
  const columns = parquetSchema(metadata).children.map(
    column => [column.element.name, converterOf(column)] as const,
  )
  const raw = withoutLogicalTypes(metadata)
  let groupStart = 0
  for (const group of metadata.row_groups) {
    const groupRows = Number(group.num_rows)
    const parts = Math.max(1, Math.ceil(Number(group.total_byte_size) / MAX_DECODED_BYTES))
    const partRows = Math.max(1, Math.ceil(groupRows / parts))
    for (let from = groupStart; from < groupStart + groupRows; from += partRows) {
      const rows = await parquetReadObjects({
        file,
        metadata: raw,
        compressors: COMPRESSORS,
        utf8: false,
        useOffsetIndex: true,
        parsers: { timestampFromNanoseconds: nanos => nanos, stringFromBytes: binaryValue },
        rowStart: from,
        rowEnd: Math.min(from + partRows, groupStart + groupRows),
      })
      yield rows.map((row, i): Row => {
        const entries = columns.map(([name, convert]) => [name, convert(row[name])] as const)
        return { where: `${path}: row ${from + i + 1}`, values: Object.fromEntries(entries) }
      })
    }
    groupStart += groupRows
  }
}

/**
 * The metadata without the logical types of values, so that the library returns stored values, which this
 * module converts without loss. Keys of maps stay texts.
 */
function withoutLogicalTypes(metadata: FileMetaData): FileMetaData {
  return {
    ...metadata,
    schema: metadata.schema.map(element => {
      if (element.num_children !== undefined)
        return element.logical_type?.type === 'LIST' ? { ...element, converted_type: 'LIST' } : element
      if (element.name === 'key' && kindOf(element) === 'STRING') return element
      const { converted_type: _, logical_type: __, ...stored } = element
      return stored
    }),
  }
}

const kindOf = ({ converted_type: converted, logical_type: logical }: SchemaElement): string | undefined =>
  converted === 'UTF8' || converted === 'ENUM' ? 'STRING' : (logical?.type ?? converted)

const nothing: Converter = value => value ?? null

function converterOf(node: SchemaTree): Converter {
  const { element, children } = node
  const one = children.length > 0 ? groupConverter(node) : orNull(leafConverter(element))
  return element.repetition_type === 'REPEATED'
    ? value => (Array.isArray(value) ? value.map(one) : nothing(value))
    : one
}

const orNull =
  (convert: Converter): Converter =>
  value =>
    value === null || value === undefined ? null : convert(value)

function groupConverter({ element, children }: SchemaTree): Converter {
  const [child] = children
  const kind = element.converted_type ?? element.logical_type?.type
  if (kind === 'LIST' && child && children.length === 1) {
    const item = child.children.length === 1 ? (child.children[0] ?? child) : child
    const convert = item === child ? groupOrLeaf(child) : converterOf(item)
    return value => (isList(value) ? Array.from(value, convert) : null)
  }
  if (kind === 'MAP' && child) {
    const convert = converterOf(child.children[1] ?? child)
    return orNull(value =>
      Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, convert(one)])),
    )
  }
  const fields = children.map(field => [field.element.name, converterOf(field)] as const)
  return orNull(value => {
    const values = value as Record<string, unknown>
    return structValue(fields.map(([name, convert]) => [name, convert(values[name])] as const))
  })
}

/** A repeated element of a list, whose repetition is that of the list. */
const groupOrLeaf = (node: SchemaTree): Converter =>
  converterOf({ ...node, element: { ...node.element, repetition_type: 'OPTIONAL' } })

const isList = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || ArrayBuffer.isView(value)

const UNITS: Readonly<Record<string, TimeUnit>> = { MILLIS: 'ms', MICROS: 'us', NANOS: 'ns' }

function leafConverter(element: SchemaElement): Converter {
  const { type, logical_type: logical, converted_type: converted } = element
  const kind = kindOf(element) ?? ''
  const unit =
    UNITS[(logical && 'unit' in logical ? logical.unit : converted?.split('_').at(-1)) ?? ''] ?? 'ms'
  const isLocal = logical && 'isAdjustedToUTC' in logical && !logical.isAdjustedToUTC
  const zone = isLocal ? undefined : 'UTC'
  if (kind === 'DECIMAL') return value => decimalValue(wholeOf(value), element.scale ?? 0)
  if (kind === 'DATE') return value => dateValue(Number(value))
  if (kind.startsWith('TIMESTAMP')) return value => timestampValue(BigInt(value as bigint), unit, zone)
  if (kind.startsWith('TIME')) return value => timeValue(BigInt(value as bigint), unit)
  if (kind === 'JSON') return value => jsonValue(binaryValue(value as Uint8Array))
  if (kind === 'UUID') return value => uuidOf(value as Uint8Array)
  if (kind === 'FLOAT16') return value => floatValue(halfOf(value as Uint8Array))
  if (kind === 'INTERVAL' || kind === 'BSON' || kind === 'VARIANT')
    return () => {
      throw new Error(`column ${element.name}: values of type ${kind} cannot be read`)
    }
  const isUnsigned = kind.startsWith('UINT') || (logical && 'isSigned' in logical && !logical.isSigned)
  switch (type) {
    case 'FLOAT':
    case 'DOUBLE':
      return value => floatValue(Number(value))
    case 'INT32':
      return value => integerValue(isUnsigned ? Number(value) >>> 0 : Number(value))
    case 'INT64':
      return value =>
        integerValue(isUnsigned ? BigInt.asUintN(64, BigInt(value as bigint)) : (value as bigint))
    case 'INT96':
      return value => timestampValue(BigInt(value as bigint), 'ns', undefined)
    case 'BYTE_ARRAY':
    case 'FIXED_LEN_BYTE_ARRAY':
      return value => (value instanceof Uint8Array ? binaryValue(value) : value)
    default:
      return value => value
  }
}

const wholeOf = (value: unknown): bigint =>
  value instanceof Uint8Array ? bigIntOf(value) : BigInt(value as bigint | number)

function uuidOf(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

function halfOf(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, 2).getFloat16(0, true)
}
