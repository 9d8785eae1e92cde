/** Reads tables of FlatBuffers, the format of Arrow's metadata. */

/** A table of some bytes. Fields are numbered as in the schema, and absent ones have defaults. */
export type Table = {
  int: (field: number, bits: 8 | 16 | 32 | 64, fallback?: number) => number
  text: (field: number) => string
  table: (field: number) => Table | undefined
  tables: (field: number) => Table[]
  /** Pairs of 64-bit numbers: Arrow's FieldNode and Buffer. */
  pairs: (field: number) => [number, number][]
  longs: (field: number) => number[]
}

export function rootTable(bytes: Uint8Array): Table {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return tableAt(view, view.getUint32(0, true))
}

function tableAt(view: DataView, at: number): Table {
  const vtable = at - view.getInt32(at, true)
  const size = view.getUint16(vtable, true)
  /** The position of a field, or 0. */
  const fieldAt = (field: number): number => {
    const slot = 4 + 2 * field
    const offset = slot < size ? view.getUint16(vtable + slot, true) : 0
    return offset === 0 ? 0 : at + offset
  }
  const target = (position: number) => position + view.getUint32(position, true)
  const long = (position: number) => Number(view.getBigInt64(position, true))
  const vector = <T>(field: number, bytes: number, read: (position: number) => T): T[] => {
    const position = fieldAt(field)
    if (position === 0) return []
    const start = target(position)
    return Array.from({ length: view.getUint32(start, true) }, (_, i) => read(start + 4 + i * bytes))
  }
  return {
    int(field, bits, fallback = 0) {
      const position = fieldAt(field)
      if (position === 0) return fallback
      if (bits === 64) return long(position)
      return bits === 8
        ? view.getInt8(position)
        : bits === 16
          ? view.getInt16(position, true)
          : view.getInt32(position, true)
    },
    text(field) {
      const position = fieldAt(field)
      if (position === 0) return ''
      const start = target(position)
      return new TextDecoder().decode(
        new Uint8Array(view.buffer, view.byteOffset + start + 4, view.getUint32(start, true)),
      )
    },
    table(field) {
      const position = fieldAt(field)
      return position === 0 ? undefined : tableAt(view, target(position))
    },
    tables: field => vector(field, 4, position => tableAt(view, target(position))),
    pairs: field => vector(field, 16, position => [long(position), long(position + 8)]),
    longs: field => vector(field, 8, long),
  }
}
