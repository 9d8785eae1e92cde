/** Appends fragments of calls and reasoning blocks to what they continue. */
import { nestsTooDeep } from '@cairn/protocol'
import type { z } from 'zod'
import { argumentsText } from './answer-fields.ts'
import type { AnswerMeter } from './answer-limits.ts'
import { beginJson, isOpen, type JsonState, scanJson } from './json-state.ts'
import type { Fragment } from './openai-wire.ts'

export type Call = {
  index: number | undefined
  id: string
  name: string
  arguments: string
  /** Where the arguments are, to tell whether the next fragment continues them. */
  json: JsonState
  /** Fragments of this call came under several ids. */
  changesId: boolean
  /** Fields that the server expects again with this call, such as a thought signature. */
  fields: Record<string, unknown>
}

type Piece = Pick<Call, 'index' | 'id' | 'name' | 'arguments' | 'fields'>

/**
 * Servers number and name their fragments in many ways. A fragment that cannot be a call by itself continues
 * the one before: it has no name, or its arguments are JSON only together with those before.
 */
export function addFragment(
  calls: Call[],
  fragment: z.infer<typeof Fragment>,
  offered: readonly string[],
  meter: AnswerMeter,
): void {
  const piece: Piece = {
    index: fragment.index,
    id: fragment.id ?? '',
    name: fragment.function?.name ?? '',
    arguments: argumentsText(fragment.function?.arguments ?? ''),
    fields: additionalFields(fragment, meter),
  }
  meter.add('tool calls', piece.id + piece.name + piece.arguments)
  const before = callBefore(calls, piece)
  if (before && continues(before, piece, offered)) return grow(before, piece, offered)
  meter.count('tool calls')
  const call: Call = { ...piece, arguments: '', json: beginJson(), changesId: false, fields: {} }
  calls.push(call)
  grow(call, piece, offered)
}

/** The call with the same index, else with the same id. Without either, and without a name, the last one. */
function callBefore(calls: readonly Call[], { index, id, name, arguments: args }: Piece): Call | undefined {
  const found =
    index !== undefined
      ? calls.findLast(call => call.index === index)
      : id !== ''
        ? calls.findLast(call => call.id === id)
        : undefined
  // An id with nothing else announces a call whose name follows.
  const announces = index !== undefined && id !== '' && name === '' && args === ''
  return found ?? (index === undefined || (name === '' && !announces) ? calls.at(-1) : undefined)
}

function continues(call: Call, piece: Piece, offered: readonly string[]): boolean {
  const { index, id, name, arguments: args } = piece
  const bothHaveIds = id !== '' && call.id !== ''
  if ((bothHaveIds && id === call.id) || name === '' || call.name === '') return true
  // Arguments that do not begin an object belong to those that have not ended.
  if (isOpen(call.json) && name === call.name && !args.trimStart().startsWith('{')) return true
  if (bothHaveIds) return false
  const sameIndex = index !== undefined && index === call.index
  if (isOpen(call.json)) return sameIndex
  if (call.arguments !== '') return args === '' && name === call.name
  if (isNameOfTool(call.name + name, offered)) return true
  return sameIndex && !(offered.includes(call.name) && offered.includes(name) && name !== call.name)
}

const isNameOfTool = (start: string, offered: readonly string[]): boolean =>
  offered.some(name => name.startsWith(start))

function grow(call: Call, piece: Piece, offered: readonly string[]): void {
  if (call.id === '') call.id = piece.id
  else if (piece.id !== '' && piece.id !== call.id) call.changesId = true
  call.name = longerName(call, piece.name, offered)
  call.arguments += piece.arguments
  scanJson(call.json, piece.arguments)
  Object.assign(call.fields, piece.fields)
}

/** What a fragment contains besides the documented keys. */
function additionalFields(
  { index: _index, id: _id, type: _type, function: _function, ...fields }: z.infer<typeof Fragment>,
  meter: AnswerMeter,
): Record<string, unknown> {
  const given = Object.fromEntries(
    Object.entries(fields).filter(
      ([, value]) => value !== null && value !== undefined && !nestsTooDeep(value),
    ),
  )
  if (Object.keys(given).length > 0) meter.add('reasoning details', JSON.stringify(given))
  return given
}

/** A name may come in pieces, as the whole so far, or again with each fragment. */
function longerName(call: Call, piece: string, offered: readonly string[]): string {
  if (piece === '' || call.name === '') return call.name + piece
  if (isNameOfTool(call.name + piece, offered)) return call.name + piece
  if (piece === call.name || offered.includes(call.name)) return call.name
  if (piece.startsWith(call.name)) return piece
  return call.arguments === '' ? call.name + piece : call.name
}

/** Joins calls that turned out to be none by themselves, once all fragments are there. */
export function joinCalls(calls: readonly Call[]): Call[] {
  const joined: Call[] = []
  for (const call of calls) {
    const before = joined.findLast(other => other.index === call.index) ?? joined.at(-1)
    if (before && isPartOf(before, call)) {
      before.arguments += call.arguments
      scanJson(before.json, call.arguments)
      Object.assign(before.fields, call.fields)
    } else joined.push(call)
  }
  return joined
}

function isPartOf(before: Call, call: Call): boolean {
  if (call.name === '') return true
  if (before.name !== call.name || before.index !== call.index) return false
  return isOpen(before.json)
    ? isOpen(call.json) || call.json.isBroken
    : before.arguments === '' && call.changesId
}

const GROWING = ['text', 'summary'] as const

/**
 * Text and summary blocks arrive in pieces with the same index; all others (encrypted blocks) arrive whole.
 */
export function addDetail(
  details: Record<string, unknown>[],
  piece: Record<string, unknown>,
  meter: AnswerMeter,
): void {
  const last = details.at(-1)
  const key = GROWING.find(
    name => typeof piece[name] === 'string' && (last?.[name] === undefined || typeof last[name] === 'string'),
  )
  const continues =
    last !== undefined &&
    key !== undefined &&
    last['type'] === piece['type'] &&
    last['index'] === piece['index'] &&
    !last['signature']
  if (!continues) {
    meter.count('blocks')
    details.push({ ...piece })
    return
  }
  const text = `${String(last[key] ?? '')}${String(piece[key])}`
  const given = Object.fromEntries(
    Object.entries(piece).filter(([, value]) => value !== null && value !== undefined),
  )
  Object.assign(last, given, { [key]: text })
}

export const detailText = (detail: Record<string, unknown>): string => {
  const key = GROWING.find(name => typeof detail[name] === 'string')
  return key ? String(detail[key]) : ''
}
