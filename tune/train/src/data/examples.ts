/** Converts rows of a data set to examples. The columns determine the format. */
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'
import { readConversation, type Conversation } from './conversations.ts'
import type { DataRecord } from './read-records.ts'
import type { Skipped } from './skips.ts'

export type Example =
  | ({
      kind: 'chat'
      /** Number of messages before the completion, for rows with both. */ promptLength?: number
    } & Conversation)
  | { kind: 'completion'; prompt: string; completion: string }
  | { kind: 'question'; question: string; answer: string }
  | {
      kind: 'instruction'
      instruction: string
      input: string
      output: string
      system: string
      history: [string, string][]
    }
  | { kind: 'text'; text: string }

type Values = Record<string, unknown>

/** `columns` are required; `more` are optional. */
export type Shape<E = Example> = {
  columns: readonly string[]
  more?: readonly string[]
  /** The examples in a row. */
  read: (values: Values) => E[]
}

export const text = z.string().refine(value => value.isWellFormed(), 'a text contains an unpaired surrogate')
const maybe = text.nullish().transform(value => value ?? '')
const texts = <const K extends string>(...names: readonly K[]) =>
  z.object(Object.fromEntries(names.map(name => [name, text])) as Record<K, typeof text>)
const instruction = texts('instruction', 'output').extend({
  input: maybe,
  system: maybe,
  history: z
    .array(z.tuple([text, text]))
    .nullish()
    .transform(turns => turns ?? []),
})

/** In order of precedence: the first format whose columns are all present. */
export const SHAPES: readonly Shape[] = [
  {
    columns: ['messages'],
    more: ['tools'],
    read: ({ messages, tools }) => [{ kind: 'chat', ...readConversation(messages, tools) }],
  },
  { columns: ['conversations'], more: ['system', 'tools'], read: values => [readShareGpt(values)] },
  { columns: ['prompt', 'completion'], more: ['tools'], read: values => [readCompletion(values)] },
  {
    columns: ['question', 'answer'],
    read: values => [{ kind: 'question', ...texts('question', 'answer').parse(values) }],
  },
  {
    columns: ['instruction', 'output'],
    more: ['input', 'system', 'history'],
    read: values => [{ kind: 'instruction', ...instruction.parse(values) }],
  },
  { columns: ['text'], read: values => [{ kind: 'text', ...texts('text').parse(values) }] },
]

const expectedOf = (shapes: readonly Shape<unknown>[]) =>
  shapes.map(({ columns }) => columns.join(' + ')).join(', or ')

/** `ours=theirs`, for data with other column names. */
export type ColumnMap = readonly string[]

export type Examples<E = Example> = { examples: E[]; places: string[]; skipped: Skipped[] }

/** Reads rows in the format of the first row that has one. Invalid rows are returned as skipped. */
export const readExamples = (records: readonly DataRecord[], columns: ColumnMap = []): Examples =>
  readShapes(SHAPES, records, columns)

/** The same with a given list of formats. */
export function readShapes<E>(
  shapes: readonly Shape<E>[],
  records: readonly DataRecord[],
  columns: ColumnMap = [],
): Examples<E> {
  const names = readColumnMap(shapes, columns, records)
  const renamed = records.map(({ where, values }) => ({ where, values: rename(values, names) }))
  const fitting = shapes.filter(shape =>
    [...names.keys()].every(name => [...shape.columns, ...(shape.more ?? [])].includes(name)),
  )
  const shape = firstShape(renamed, fitting)
  const found: Examples<E> = { examples: [], places: [], skipped: [] }
  for (const { where, values } of renamed) {
    const made = readOne(shapes, shape, values)
    if ('reason' in made) found.skipped.push({ where, ...made })
    else {
      found.examples.push(...made)
      found.places.push(...made.map(() => where))
    }
  }
  return found
}

/** The format of the first row that has one. */
function firstShape<E>(records: readonly DataRecord[], shapes: readonly Shape<E>[]): Shape<E> | undefined {
  for (const { values } of records) {
    const shape = shapes.find(one => hasAll(one, values))
    if (shape) return shape
  }
  return undefined
}

const hasAll = ({ columns }: Shape<unknown>, values: Values) => columns.every(column => column in values)

function readOne<E>(
  shapes: readonly Shape<E>[],
  shape: Shape<E> | undefined,
  values: Values,
): E[] | { reason: string } {
  if (!shape || !hasAll(shape, values)) return { reason: strangerText(shapes, shape, values) }
  try {
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

function readShareGpt({ conversations, system, tools }: Values): Example {
  const read = readConversation(conversations, tools)
  const start = maybe.parse(system)
  if (start === '') return { kind: 'chat', ...read }
  if (read.messages[0]?.role === 'system')
    throw new InputError('has a column system, and its conversation begins with another system message')
  return {
    kind: 'chat',
    ...read,
    messages: [{ role: 'system', content: start }, ...read.messages],
    ...(read.untrained ? { untrained: read.untrained.map(i => i + 1) } : {}),
  }
}

/** Two texts end to end, or two lists of messages, of which the completion's are trained. */
function readCompletion({ prompt, completion, tools }: Values): Example {
  if (!Array.isArray(prompt) && !Array.isArray(completion))
    return { kind: 'completion', ...texts('prompt', 'completion').parse({ prompt, completion }) }
  if (!Array.isArray(prompt) || !Array.isArray(completion))
    throw new InputError('prompt and completion must both be texts, or both lists of messages')
  const read = readConversation([...prompt, ...completion], tools)
  const untrained = new Set([...prompt.keys(), ...(read.untrained ?? [])])
  return { kind: 'chat', ...read, untrained: [...untrained], promptLength: prompt.length }
}

function readColumnMap(
  shapes: readonly Shape<unknown>[],
  columns: ColumnMap,
  records: readonly DataRecord[],
): Map<string, string> {
  const known = [...new Set(shapes.flatMap(shape => [...shape.columns, ...(shape.more ?? [])]))]
  const names = new Map<string, string>()
  for (const pair of columns) {
    const [ours = '', theirs = ''] = pair.split('=').map(name => name.trim())
    if (!known.includes(ours))
      throw new InputError(
        `dataset_columns: unknown column ${JSON.stringify(ours)}; known: ${known.join(', ')}`,
      )
    if (!records.some(({ values }) => theirs in values))
      throw new InputError(
        `dataset_columns: no row has the column ${JSON.stringify(theirs)}; ` +
          `the first row has ${Object.keys(records[0]?.values ?? {}).join(', ')}`,
      )
    names.set(ours, theirs)
  }
  return names
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
