/**
 * Reads Arrow's IPC format, file or stream, one record batch at a time: what the datasets library caches, and
 * what its save_to_disk writes.
 */
import { open, type FileHandle } from 'node:fs/promises'
import { InputError } from '@cairn-tune/weights'
import { readColumns, readField, type Dictionaries, type Field } from './arrow-columns.ts'
import { rootTable, type Table } from './flatbuffer.ts'
import type { Row, RowStream } from './rows.ts'

const FILE_MAGIC = 'ARROW1'
const CONTINUATION = 0xffffffff
const [SCHEMA, DICTIONARY, RECORDS] = [1, 2, 3]

export async function* readArrow(path: string): RowStream {
  const handle = await open(path)
  try {
    yield* readMessages(path, handle)
  } catch (error) {
    if (error instanceof InputError) throw error
    throw new InputError(
      `${path}: invalid Arrow file (${error instanceof Error ? error.message : String(error)})`,
      { cause: error },
    )
  } finally {
    await handle.close()
  }
}

async function* readMessages(path: string, handle: FileHandle): RowStream {
  const dictionaries: Dictionaries = new Map()
  let fields: Field[] | undefined
  let row = 0
  for await (const { kind, header, body } of messagesOf(handle)) {
    if (kind === SCHEMA) {
      if (header.int(0, 16) !== 0) throw new Error('big-endian numbers')
      fields = header.tables(1).map(readField)
    } else if (kind === DICTIONARY) {
      const data = header.table(1)
      const id = header.int(0, 64)
      const field = fields?.flatMap(withChildren).find(({ dictionary }) => dictionary === id)
      if (!data || !field) throw new Error(`a dictionary ${id} that no column has`)
      const [values] = readColumns([{ ...field, dictionary: undefined }], data, body, dictionaries)
      const length = data.int(0, 64)
      const own = Array.from({ length }, (_, i) => values?.(i))
      dictionaries.set(id, header.int(2, 8) === 1 ? [...(dictionaries.get(id) ?? []), ...own] : own)
    } else if (kind === RECORDS) {
      if (!fields) throw new Error('records before their schema')
      const names = fields.map(({ name }) => name)
      const columns = readColumns(fields, header, body, dictionaries)
      const start = row
      row += header.int(0, 64)
      yield Array.from({ length: row - start }, (_, i): Row => {
        const values = Object.fromEntries(columns.map((valueAt, at) => [names[at] ?? '', valueAt(i)]))
        return { where: `${path}: row ${start + i + 1}`, values }
      })
    }
  }
  if (!fields) throw new Error('the file has no schema')
}

const withChildren = (field: Field): Field[] => [field, ...field.children.flatMap(withChildren)]

type Message = { kind: number; header: Table; body: Uint8Array }

async function* messagesOf(handle: FileHandle): AsyncGenerator<Message> {
  const { size } = await handle.stat()
  const read = async (at: number, length: number): Promise<Uint8Array> => {
    if (length < 0 || at + length > size) throw new Error(`the file ends within a message at byte ${at}`)
    const bytes = new Uint8Array(length)
    for (let done = 0; done < length;) {
      const { bytesRead } = await handle.read(bytes, done, length - done, at + done)
      if (bytesRead === 0) throw new Error(`the file ends at byte ${at + done}`)
      done += bytesRead
    }
    return bytes
  }
  const isMagic = async (at: number) => Buffer.from(await read(at, 6)).toString('latin1') === FILE_MAGIC
  const isFile = size >= 8 && (await isMagic(0))
  if (isFile && !(await isMagic(size - 6))) throw new Error('the file is cut')
  for (let at = isFile ? 8 : 0; at + 4 <= size;) {
    const first = Buffer.from(await read(at, Math.min(8, size - at)))
    // Before version 0.15 of Arrow, a message had no continuation mark.
    const isMarked = first.readUInt32LE(0) === CONTINUATION
    if (isMarked && first.byteLength < 8) throw new Error('the file ends within a message')
    const length = isMarked ? first.readInt32LE(4) : first.readInt32LE(0)
    if (length === 0) return
    at += isMarked ? 8 : 4
    const message = rootTable(await read(at, length))
    at += length
    const bodyLength = message.int(3, 64)
    const header = message.table(2)
    if (!header) throw new Error('a message without content')
    yield { kind: message.int(1, 8), header, body: await read(at, bodyLength) }
    at += bodyLength
  }
}
