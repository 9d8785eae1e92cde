/** An answer as the bytes of one kind of server. */
import { createHash } from 'node:crypto'
import type { AnswerForm } from './profile.ts'

export type ZooCall = { name: string; arguments: string }
export type ZooAnswer = {
  text: string
  reasoning: string
  calls: readonly ZooCall[]
  model: string
  seed: string
}
export type SentAnswer = { type: string; body: string }

type Json = Readonly<Record<string, unknown>>

const pieces = (text: string): string[] => text.match(/[\s\S]{1,12}/gu) ?? []
const SEPARATORS = { lf: '\n\n', crlf: '\r\n\r\n', one_lf: '\n' } as const

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The id of the nth call. The seed differs from answer to answer. */
function callId(form: AnswerForm['call_id'], { seed, calls }: ZooAnswer, at: number): string {
  const own = hash(`${seed}:${at}`)
  switch (form) {
    case 'nine':
      return own.slice(0, 9)
    case 'numbered':
      return `functions.${calls[at]?.name}:${Number.parseInt(own.slice(0, 4), 16)}`
    case 'digits':
      return String(Number.parseInt(own.slice(0, 8), 16))
    case 'uuid':
      return `${own.slice(0, 8)}-${own.slice(8, 12)}-4${own.slice(13, 16)}-8${own.slice(17, 20)}-${own.slice(20, 32)}`
    default:
      return `call_${own.slice(0, 24)}`
  }
}

/** Fields of a chunk or a message with a thought. */
function thought(form: AnswerForm['reasoning'], text: string): Json {
  switch (form) {
    case 'details':
      return { reasoning_details: [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }] }
    case 'parts':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }
    case 'reasoning':
      return { reasoning: text }
    default:
      return { reasoning_content: text }
  }
}

const SIGNATURE = { extra_content: { google: { thought_signature: 'c2lnbmF0dXJl' } } }

function wholeCall(form: AnswerForm, answer: ZooAnswer, call: ZooCall, at: number): Json {
  const id = callId(form.call_id, answer, at)
  return {
    index: indexOf(form, at),
    id,
    type: 'function',
    function: {
      name: call.name,
      arguments: form.calls === 'object' ? parsedArguments(call.arguments) : call.arguments,
    },
    ...(form.signatures ? SIGNATURE : {}),
  }
}

/** A server that sends objects sends text that is not JSON as text. */
function parsedArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The scenario wants arguments that are not JSON.
    return text
  }
}

const indexOf = ({ call_index }: AnswerForm, at: number): unknown =>
  call_index === 'text' ? String(at) : call_index === 'zero' ? 0 : at

/** The deltas of one call. */
function callDeltas(form: AnswerForm, answer: ZooAnswer, call: ZooCall, at: number): Json[] {
  if (form.calls === 'whole' || form.calls === 'object') return [wholeCall(form, answer, call, at)]
  const index = { index: indexOf(form, at) }
  const half = Math.ceil(call.name.length / 2)
  const names = form.call_name === 'pieces' ? [call.name.slice(0, half), call.name.slice(half)] : [call.name]
  const id = (nth: number): Json => {
    const own = callId(form.call_id, answer, at)
    if (form.call_id === 'changing') return { id: `${own}-${nth}` }
    if (nth > 0) return form.call_id === 'empty_after' ? { id: '' } : {}
    return { id: own }
  }
  return [
    ...names.map((name, nth) => ({
      ...index,
      ...id(nth),
      type: 'function',
      function: { name, arguments: '' },
    })),
    ...pieces(call.arguments).map((piece, nth) => ({
      ...index,
      ...id(nth + names.length),
      function: { ...(form.call_name === 'each' ? { name: call.name } : {}), arguments: piece },
    })),
  ].map((delta, nth) => (nth === 0 && form.signatures ? { ...delta, ...SIGNATURE } : delta))
}

const USAGE = { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 }
const USAGE_TEXT = { prompt_tokens: '120', completion_tokens: '30', total_tokens: '150' }

function finishReason({ finish = {} }: AnswerForm, called: boolean): string | null {
  const own = called ? finish.tool_calls : finish.stop
  return own === undefined ? (called ? 'tool_calls' : 'stop') : own
}

function openAIMessage(form: AnswerForm, answer: ZooAnswer): Json {
  return {
    role: 'assistant',
    content: answer.text,
    ...(form.reasoning && form.reasoning !== 'parts' ? thought(form.reasoning, answer.reasoning) : {}),
    ...(answer.calls.length === 0
      ? {}
      : { tool_calls: answer.calls.map((call, at) => wholeCall(form, answer, call, at)) }),
  }
}

export function openAIAnswer(form: AnswerForm, answer: ZooAnswer): SentAnswer {
  const { framing = 'lf', usage = 'chunk' } = form
  const finish_reason = finishReason(form, answer.calls.length > 0)
  const head = { id: `chatcmpl-${hash(answer.seed).slice(0, 12)}`, created: 1, model: answer.model }
  const counted = usage === 'text' ? USAGE_TEXT : USAGE
  const type = form.content_type ?? (framing === 'json' ? 'application/json' : 'text/event-stream')
  const whole = { ...head, object: 'chat.completion', usage: counted }
  if (framing === 'json') {
    const choices = [{ index: 0, message: openAIMessage(form, answer), finish_reason }]
    return { type, body: JSON.stringify({ ...whole, choices }) }
  }

  const deltas: Json[] = [
    { content: '' },
    ...(form.reasoning ? pieces(answer.reasoning).map(piece => thought(form.reasoning, piece)) : []),
    ...pieces(answer.text).map(piece => ({ content: piece })),
    ...answer.calls.flatMap((call, at) =>
      callDeltas(form, answer, call, at).map(delta => ({
        tool_calls: form.calls === 'bare' ? delta : [delta],
      })),
    ),
  ].map((delta, at) => ({ ...roleOf(form, at), ...delta }))
  const chunk = (at: number, delta: Json, reason: string | null, more: Json = {}): Json => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [
      {
        index: form.choice_index === 'growing' ? 197 + at : 0,
        delta,
        finish_reason: reason,
        ...(usage === 'choice' && reason !== null ? { usage: counted } : {}),
      },
    ],
    ...form.extra,
    ...(usage === 'each' ? { usage: counted } : {}),
    ...more,
  })
  const ending =
    usage === 'groq' ? { x_groq: { usage: counted } } : usage === 'finish' ? { usage: counted } : {}
  const chunks: Json[] = [
    ...(form.first ? [form.first] : []),
    ...deltas.map((delta, at) => chunk(at, delta, null)),
    ...(finish_reason === null ? [] : [chunk(deltas.length, {}, finish_reason, ending)]),
    ...(form.final_message
      ? [{ ...whole, choices: [{ index: 0, message: openAIMessage(form, answer), finish_reason }] }]
      : usage === 'chunk' || usage === 'text'
        ? [{ ...head, object: 'chat.completion.chunk', choices: [], usage: counted }]
        : []),
  ]
  const end = SEPARATORS[framing]
  const events = chunks.map(each => `data: ${JSON.stringify(each)}${end}`)
  return {
    type,
    body: `${form.opening ?? ''}${events.join('')}data: [DONE]${end}`,
  }
}

function roleOf({ role = 'first' }: AnswerForm, at: number): Json {
  if (role === 'first') return at === 0 ? { role: 'assistant' } : {}
  return { role: role === 'each' || at === 0 ? 'assistant' : '' }
}

export function anthropicAnswer(form: AnswerForm, answer: ZooAnswer): SentAnswer {
  const count = (tokens: number): number | string => (form.usage === 'text' ? String(tokens) : tokens)
  const blocks: { start: Json; deltas: Json[] }[] = [
    ...(form.reasoning
      ? [
          {
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              ...pieces(answer.reasoning).map(thinking => ({ type: 'thinking_delta', thinking })),
              { type: 'signature_delta', signature: 'c2lnbmF0dXJl' },
            ],
          },
        ]
      : []),
    ...(answer.text === ''
      ? []
      : [
          {
            start: { type: 'text', text: '' },
            deltas: pieces(answer.text).map(text => ({ type: 'text_delta', text })),
          },
        ]),
    ...answer.calls.map((call, at) => ({
      start: {
        type: 'tool_use',
        id: `toolu_${hash(`${answer.seed}:${at}`).slice(0, 24)}`,
        name: call.name,
        input: {},
      },
      deltas: pieces(call.arguments).map(partial_json => ({ type: 'input_json_delta', partial_json })),
    })),
  ]
  const events: Json[] = [
    {
      type: 'message_start',
      message: {
        type: 'message',
        role: 'assistant',
        model: answer.model,
        usage: { input_tokens: count(120), output_tokens: 1 },
      },
    },
    { type: 'ping' },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: answer.calls.length > 0 ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: count(30) },
    },
    { type: 'message_stop' },
  ]
  const name = ({ type }: Json): string => (form.nameless_events ? '' : `event: ${String(type)}\n`)
  return {
    type: 'text/event-stream',
    body: events.map(event => `${name(event)}data: ${JSON.stringify(event)}\n\n`).join(''),
  }
}
