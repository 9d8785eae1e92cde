/** Appends fragments of calls and reasoning blocks to what they continue. */
import { nestsTooDeep } from '@cairn/protocol'
import type { z } from 'zod'
import { argumentsText } from './answer-fields.ts'
import type { AnswerMeter } from './answer-limits.ts'
import type { Fragment } from './openai-wire.ts'

export type Call = {
  index: number | undefined
  id: string
  name: string
  arguments: string
  /** Fields that the server expects again with this call, such as a thought signature. */
  fields: Record<string, unknown>
}

/**
 * The call that a fragment continues: by index, unless a new id shows that the server's indices are wrong;
 * without an index by id; without either the last one, unless a name starts another.
 */
export function addFragment(calls: Call[], fragment: z.infer<typeof Fragment>, meter: AnswerMeter): void {
  const id = fragment.id ?? ''
  const index = fragment.index ?? undefined
  const name = fragment.function?.name ?? ''
  const args = argumentsText(fragment.function?.arguments ?? '')
  meter.add('tool calls', id + name + args)
  const candidate =
    index !== undefined
      ? calls.findLast(call => call.index === index)
      : id !== ''
        ? calls.find(call => call.id === id)
        : name === ''
          ? calls.at(-1)
          : undefined
  let call = candidate && (id === '' || candidate.id === '' || candidate.id === id) ? candidate : undefined
  if (!call) {
    meter.count('tool calls')
    call = { index, id, name: '', arguments: '', fields: {} }
    calls.push(call)
  }
  if (call.id === '') call.id = id
  if (call.name === '') call.name = name
  call.arguments += args
  Object.assign(call.fields, additionalFields(fragment, meter))
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
