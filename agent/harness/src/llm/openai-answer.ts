/**
 * Chunks of OpenAI's chat-completion stream, put together into one answer. Many servers speak this protocol
 * with an accent; what is tolerated: a whole `message` in place of deltas, tool calls without index or id,
 * arguments as an object, content as parts, reasoning under three names, usage in four places, `stop` where
 * calls were made.
 */
import { nestsTooDeep } from '@cairn/protocol'
import { z } from 'zod'
import { callIds } from './call-id.ts'
import { jsonWithin } from './json-answer.ts'
import { REASONING_FORMAT } from './openai-request.ts'
import {
  ModelError,
  type AssistantMessageData,
  type ModelAnswer,
  type ModelChunk,
  type ModelRequest,
  type Usage,
} from './provider.ts'
import { argumentsText, shortReason, tokenCount } from './answer-fields.ts'
import { meterAnswer, type AnswerMeter } from './answer-limits.ts'
import { plainChunk } from './plain-chunk.ts'
import { invalidAnswer, type CallSite } from './model-errors.ts'

const json = z.record(z.string(), z.unknown())
const tokens = z.number().nullish()
const UsageWire = z.looseObject({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  prompt_tokens_details: z.looseObject({ cached_tokens: tokens }).nullish(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: tokens }).nullish(),
  prompt_cache_hit_tokens: tokens,
  cached_tokens: tokens,
})
const Fragment = z.looseObject({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z
    .looseObject({ name: z.string().nullish(), arguments: z.union([z.string(), json]).nullish() })
    .nullish(),
})
const Part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  thinking: z.union([z.string(), z.array(z.looseObject({ text: z.string().nullish() }))]).nullish(),
})
const Delta = z.looseObject({
  content: z.union([z.string(), z.array(Part)]).nullish(),
  refusal: z.string().nullish(),
  tool_calls: z.array(Fragment).nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(json).nullish(),
})
const Choice = z.looseObject({
  index: z.number().nullish(),
  delta: Delta.nullish(),
  message: Delta.nullish(),
  finish_reason: z.string().nullish(),
  usage: UsageWire.nullish(),
})
const Chunk = z.looseObject({
  model: z.string().nullish(),
  choices: z.array(Choice).nullish(),
  usage: UsageWire.nullish(),
  x_groq: z.looseObject({ usage: UsageWire.nullish() }).nullish(),
})

type Call = { index: number | undefined; id: string; name: string; arguments: string }

export type AnswerInProgress = {
  /** Takes one chunk, or a whole completion; throws ModelError when it is neither. */
  take(chunk: unknown): void
  /** The answer; throws ModelError when the stream ended before the model had. */
  finish(): ModelAnswer
}

export function openAIAnswer(
  request: ModelRequest,
  site: CallSite,
  onChunk: (chunk: ModelChunk) => void,
): AnswerInProgress {
  let model = request.model
  let text = ''
  let reasoning = ''
  let refused = false
  let finishReason: string | undefined
  let usage: Usage = { input_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0 }
  const calls: Call[] = []
  const plain = { reasoning_content: '', reasoning: '' }
  const details: Record<string, unknown>[] = []
  const meter = meterAnswer(site)

  const addText = (piece: string) => {
    if (piece === '') return
    meter.add('text', piece)
    text += piece
    onChunk({ type: 'text', text: piece })
  }
  const addReasoning = (piece: string) => {
    if (piece === '') return
    meter.add('reasoning', piece)
    reasoning += piece
    onChunk({ type: 'reasoning', text: piece })
  }

  const takeDelta = (delta: z.infer<typeof Delta>) => {
    // One delta may carry the same thought under several names; it is shown once.
    const named = delta.reasoning_content ? 'reasoning_content' : delta.reasoning ? 'reasoning' : undefined
    if (named) {
      plain[named] += delta[named] ?? ''
      addReasoning(delta[named] ?? '')
    }
    for (const detail of delta.reasoning_details ?? []) {
      if (nestsTooDeep(detail)) throw invalidAnswer(site, 'a block of the reasoning is nested too deep')
      meter.add('reasoning details', JSON.stringify(detail))
      addDetail(details, detail, meter)
      if (!named) addReasoning(detailText(detail))
    }
    if (typeof delta.content === 'string') addText(delta.content)
    else
      for (const part of delta.content ?? []) {
        addReasoning(
          typeof part.thinking === 'string'
            ? part.thinking
            : (part.thinking ?? []).map(piece => piece.text ?? '').join(''),
        )
        addText(part.text ?? '')
      }
    if (delta.refusal) {
      refused = true
      addText(delta.refusal)
    }
    for (const fragment of delta.tool_calls ?? []) addFragment(calls, fragment, meter)
  }

  return {
    take(raw) {
      const piece = plainChunk(raw)
      if (piece !== null) {
        if (piece.model) model = piece.model
        return addText(piece.text)
      }
      const parsed = Chunk.safeParse(raw)
      if (!parsed.success)
        throw invalidAnswer(
          site,
          `a chunk of the answer does not fit the protocol: ${z.prettifyError(parsed.error)}`,
        )
      const chunk = parsed.data
      if (chunk.model) model = chunk.model
      const counted = chunk.usage ?? chunk.x_groq?.usage ?? chunk.choices?.find(choice => choice.usage)?.usage
      if (counted) usage = readUsage(counted)
      const choice = chunk.choices?.find(candidate => (candidate.index ?? 0) === 0)
      if (!choice) return
      if (choice.delta) takeDelta(choice.delta)
      if (choice.message) takeDelta(choice.message)
      if (choice.finish_reason) finishReason = shortReason(choice.finish_reason)
      else if (choice.message) finishReason ??= 'stop'
    },
    finish() {
      if (finishReason === undefined)
        throw invalidAnswer(site, 'the answer ended before the model had finished (no finish_reason came)')
      if (finishReason === 'error')
        throw new ModelError(
          'provider_error',
          invalidAnswer(site, 'the server reports that the model failed').message,
          { retryable: true },
        )
      const nameless = calls.find(call => call.name === '')
      if (nameless)
        throw invalidAnswer(
          site,
          `a tool call came without a name (arguments: ${nameless.arguments.slice(0, 80)})`,
        )
      const nameCall = callIds(request.messages)
      // Text goes back only beside tool calls, and not where blocks do (openai-request.ts); otherwise
      // llm.thinking has it.
      const kept = {
        ...(plain.reasoning_content && calls.length > 0
          ? { reasoning_content: plain.reasoning_content }
          : {}),
        ...(plain.reasoning && calls.length > 0 && details.length === 0
          ? { reasoning: plain.reasoning }
          : {}),
        ...(details.length > 0 ? { reasoning_details: details } : {}),
      }
      const message: AssistantMessageData = {
        role: 'assistant',
        content: request.json_schema ? jsonWithin(text) : text,
        ...(calls.length > 0
          ? {
              tool_calls: calls.map((call, index) => ({
                id: nameCall(call.id, index),
                type: 'function' as const,
                function: { name: call.name, arguments: call.arguments === '' ? '{}' : call.arguments },
              })),
            }
          : {}),
        ...(Object.keys(kept).length > 0
          ? { reasoning_details: [{ format: REASONING_FORMAT, model: request.model, ...kept }] }
          : {}),
      }
      return {
        message,
        reasoning,
        usage,
        finish_reason: refused ? 'content_filter' : settledReason(finishReason, calls.length > 0),
        model,
      }
    },
  }
}

function settledReason(reason: string, called: boolean): ModelAnswer['finish_reason'] {
  if (reason === 'function_call' || reason === 'tool_calls') return called ? 'tool_calls' : 'stop'
  return reason === 'stop' && called ? 'tool_calls' : reason
}

/**
 * Which call a fragment continues: the one of its index, unless a new id shows that the server counts
 * wrongly; without an index the one of its id; without either, the last one, unless a name begins another.
 */
function addFragment(calls: Call[], fragment: z.infer<typeof Fragment>, meter: AnswerMeter) {
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
    call = { index, id, name: '', arguments: '' }
    calls.push(call)
  }
  if (call.id === '') call.id = id
  if (call.name === '') call.name = name
  call.arguments += args
}

const GROWING = ['text', 'summary'] as const

/** Text and summary blocks arrive in pieces of one index; everything else (encrypted blocks) whole. */
function addDetail(details: Record<string, unknown>[], piece: Record<string, unknown>, meter: AnswerMeter) {
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

const detailText = (detail: Record<string, unknown>): string => {
  const key = GROWING.find(name => typeof detail[name] === 'string')
  return key ? String(detail[key]) : ''
}

function readUsage(wire: z.infer<typeof UsageWire>): Usage {
  const input = tokenCount(wire.prompt_tokens)
  const output = tokenCount(wire.completion_tokens)
  const thought = tokenCount(wire.completion_tokens_details?.reasoning_tokens)
  // Some servers leave reasoning out of completion_tokens; the total gives them away.
  const uncounted = wire.total_tokens === input + output + thought ? thought : 0
  return {
    input_tokens: input,
    output_tokens: output + uncounted,
    reasoning_tokens: thought,
    cache_read_tokens: tokenCount(
      wire.prompt_tokens_details?.cached_tokens ?? wire.prompt_cache_hit_tokens ?? wire.cached_tokens,
    ),
  }
}
