/** Reads rows in the format of the first row that has one, as they come. */
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'
import { SHAPES, type Example, type Shape, type Values } from './examples.ts'
import type { DataRecord } from './rows.ts'
import type { Skipped } from './skips.ts'
import { refuseMedia } from './turn-keys.ts'

const expectedOf = (shapes: readonly Shape<unknown>[]) =>
  shapes.map(({ columns }) => columns.join(' + ')).join(', or ')

/** `ours=theirs`, for data with other column names. */
export type ColumnMap = readonly string[]

export type Examples = { examples: Example[]; places: string[]; skipped: Skipped[] }

/** A row as examples, or the reason why it is skipped. */
export type ReadRow<E> = { where: string; examples: E[] } | Skipped

/** Reads rows in the format of the first row that has one. Invalid rows are returned as skipped. */
export function readExamples(records: readonly DataRecord[], columns: ColumnMap = []): Examples {
  const reader = createShapeReader(SHAPES, columns)
  const found: Examples = { examples: [], places: [], skipped: [] }
  for (const row of [...reader.push(records), ...reader.end()]) {
    if ('reason' in row) found.skipped.push(row)
    else {
      found.examples.push(...row.examples)
      found.places.push(...row.examples.map(() => row.where))
    }
  }
  return found
}

/** Rows that may come before one that sets the format. */
const MAX_UNDECIDED = 10_000

export type ShapeReader<E> = {
  /** Rows in order; those before the row that sets the format come with it. */
  push: (records: readonly DataRecord[]) => ReadRow<E>[]
  /** The rows that no format was found for. */
  end: () => ReadRow<E>[]
}

/** Reads rows as they come. */
export function createShapeReader<E>(shapes: readonly Shape<E>[], columns: ColumnMap = []): ShapeReader<E> {
  const names = readColumnMap(shapes, columns)
  const fitting = shapes.filter(shape =>
    [...names.keys()].every(name => [...shape.columns, ...(shape.more ?? [])].includes(name)),
  )
  const missing = new Set(names.values())
  let firstColumns: string[] | undefined
  let shape: Shape<E> | undefined
  let undecided: DataRecord[] = []
  const read = ({ where, values }: DataRecord): ReadRow<E> => {
    const made = readOne(shapes, shape, values)
    return 'reason' in made ? { where, ...made } : { where, examples: made }
  }
  const decide = (): ReadRow<E>[] => {
    shape = firstShape(undecided, fitting)
    const rows = undecided.map(read)
    undecided = []
    return rows
  }
  const checkColumns = () => {
    const [column] = missing
    if (column === undefined || firstColumns === undefined) return
    throw new InputError(
      `dataset_columns: no row has the column ${JSON.stringify(column)}; ` +
        `the first row has ${firstColumns.join(', ')}`,
    )
  }
  return {
    push(records) {
      const made: ReadRow<E>[] = []
      for (const { where, values } of records) {
        firstColumns ??= Object.keys(values)
        for (const column of missing) if (column in values) missing.delete(column)
        const record = { where, values: rename(values, names) }
        if (shape) {
          made.push(read(record))
          continue
        }
        undecided.push(record)
        const decides = fitting.some(one => hasValues(one, record.values))
        if (!decides && undecided.length < MAX_UNDECIDED) continue
        checkColumns()
        made.push(...decide())
      }
      return made
    },
    end() {
      checkColumns()
      return decide()
    },
  }
}

/** The format of the first row that has one; failing that, of the first that has its columns with null. */
function firstShape<E>(records: readonly DataRecord[], shapes: readonly Shape<E>[]): Shape<E> | undefined {
  for (const has of [hasValues, hasAll])
    for (const { values } of records) {
      const shape = shapes.find(one => has(one, values))
      if (shape) return shape
    }
  return undefined
}

const hasAll = ({ columns }: Shape<unknown>, values: Values) => columns.every(column => column in values)

/** A column with null does not count, because tables have every column in every row. */
const hasValues = ({ columns }: Shape<unknown>, values: Values) =>
  columns.every(column => values[column] !== null && values[column] !== undefined)

function readOne<E>(
  shapes: readonly Shape<E>[],
  shape: Shape<E> | undefined,
  values: Values,
): E[] | { reason: string } {
  if (!shape || !hasAll(shape, values)) return { reason: strangerText(shapes, shape, values) }
  try {
    refuseMedia(values)
    return shape.read(values)
  } catch (error) {
    if (error instanceof z.ZodError) return { reason: issueText(error) }
    if (error instanceof InputError) return { reason: error.message }
    throw error
  }
}

/** The first issue, and its place in the row. */
function issueText({ issues: [issue] }: z.ZodError): string {
  if (!issue) return 'has an unexpected form'
  const where = issue.path.map(String).join('.')
  return where === '' ? issue.message : `${where}: ${issue.message}`
}

function strangerText(
  shapes: readonly Shape<unknown>[],
  shape: Shape<unknown> | undefined,
  values: Values,
): string {
  const names = Object.keys(values)
  const has = `has the columns ${names.join(', ') || '(none)'}`
  if (!shape && names.includes('chosen') && names.includes('rejected'))
    return `${has}; use method dpo, orpo or kto to train on such pairs`
  return shape
    ? `${has}; expected ${shape.columns.join(' + ')}`
    : `${has}; expected ${expectedOf(shapes)}; map other names with dataset_columns`
}

/** Our names with theirs. */
function readColumnMap(shapes: readonly Shape<unknown>[], columns: ColumnMap): Map<string, string> {
  const known = [...new Set(shapes.flatMap(shape => [...shape.columns, ...(shape.more ?? [])]))]
  return new Map(
    columns.map(pair => {
      const [ours = '', theirs = ''] = pair.split('=').map(name => name.trim())
      if (known.includes(ours)) return [ours, theirs]
      throw new InputError(
        `dataset_columns: unknown column ${JSON.stringify(ours)}; known: ${known.join(', ')}`,
      )
    }),
  )
}

const rename = (values: Values, names: ReadonlyMap<string, string>): Values =>
  names.size === 0
    ? values
    : {
        ...values,
        ...Object.fromEntries(
          [...names].flatMap(([ours, theirs]) => (theirs in values ? [[ours, values[theirs]]] : [])),
        ),
      }
