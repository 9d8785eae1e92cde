/**
 * Assembles the chunks of OpenAI's chat-completion stream into one answer. Many servers deviate from the
 * protocol; tolerated are: a whole `message` instead of deltas or after them, a choice with any index, tool
 * calls without index or id, arguments as an object, content as parts, reasoning under three names, usage in
 * four places, `stop` although calls were made, and an end marker without any finish reason.
 */
import { nestsTooDeep } from '@cairn/protocol'
import { z } from 'zod'
import { shortReason } from './answer-fields.ts'
import { meterAnswer, type AnswerMeter } from './answer-limits.ts'
import { callIds } from './call-id.ts'
import { jsonWithin } from './json-answer.ts'
import { invalidAnswer, say, type CallSite } from './model-errors.ts'
import { FAILED_REASONS, isWindowFull, settledReason, windowFull } from './finish-reason.ts'
import { isOpen } from './json-state.ts'
import { addDetail, addFragment, type Call, detailText, joinCalls } from './openai-fragments.ts'
import { REASONING_FORMAT } from './openai-request.ts'
import { Chunk, type Delta, readUsage } from './openai-wire.ts'
import { plainChunk } from './plain-chunk.ts'
import {
  ModelError,
  type AssistantMessageData,
  type ModelAnswer,
  type ModelChunk,
  type ModelRequest,
  type Usage,
} from './provider.ts'

export type AnswerInProgress = {
  /** Takes one chunk, or a whole completion; throws ModelError for anything else. */
  take(chunk: unknown): void
  /** The server has marked the end of its stream. */
  end(): void
  /** Returns the answer; throws ModelError if the stream ended early. */
  finish(): ModelAnswer
}

/** The answer so far. */
type Gathered = {
  model: string
  text: string
  reasoning: string
  refused: boolean
  /** A choice has come. */
  hasChoice: boolean
  /** Its content came in deltas. */
  hasDelta: boolean
  isEnded: boolean
  finishReason: string | undefined
  usage: Usage
  calls: Call[]
  /** Reasoning as text, by field name. */
  plain: { reasoning_content: string; reasoning: string }
  details: Record<string, unknown>[]
  /** Google's fields of a message, such as the signature of a text. */
  extra: Record<string, unknown>
}

type Where = {
  site: CallSite
  meter: AnswerMeter
  /** Names of the offered tools. */
  offered: readonly string[]
  onChunk: (chunk: ModelChunk) => void
}

export function openAIAnswer(
  request: ModelRequest,
  site: CallSite,
  onChunk: (chunk: ModelChunk) => void,
): AnswerInProgress {
  const offered = request.tools.map(tool => tool.name)
  const where: Where = { site, meter: meterAnswer(site), offered, onChunk }
  const gathered: Gathered = {
    model: request.model,
    text: '',
    reasoning: '',
    refused: false,
    hasChoice: false,
    hasDelta: false,
    isEnded: false,
    finishReason: undefined,
    usage: { input_tokens: 0, output_tokens: 0, reasoning_tokens: 0, cache_read_tokens: 0 },
    calls: [],
    plain: { reasoning_content: '', reasoning: '' },
    details: [],
    extra: {},
  }
  return {
    take: raw => {
      if (raw !== null) takeChunk(gathered, raw, where)
    },
    end: () => void (gathered.isEnded = true),
    finish: () => finish(gathered, request, site),
  }
}

function takeChunk(gathered: Gathered, raw: unknown, where: Where): void {
  const piece = plainChunk(raw)
  if (piece !== null) {
    if (piece.model) gathered.model = piece.model
    gathered.hasChoice = true
    gathered.hasDelta ||= piece.text !== ''
    return addText(gathered, piece.text, where)
  }
  const parsed = Chunk.safeParse(raw)
  if (!parsed.success)
    throw invalidAnswer(
      where.site,
      `a chunk of the answer does not match the protocol: ${z.prettifyError(parsed.error)}`,
    )
  const chunk = parsed.data
  if (chunk.model) gathered.model = chunk.model
  const counted = chunk.usage ?? chunk.x_groq?.usage ?? chunk.choices?.find(choice => choice.usage)?.usage
  if (counted) gathered.usage = readUsage(counted)
  // One choice is requested. Its index says nothing: some servers count it up.
  const choice = chunk.choices?.find(candidate => (candidate.index ?? 0) === 0) ?? chunk.choices?.[0]
  if (!choice) return
  gathered.hasChoice = true
  if (choice.delta) {
    takeDelta(gathered, choice.delta, where)
    gathered.hasDelta ||= gathered.text !== '' || gathered.calls.length > 0
  }
  // Some servers repeat the whole message after its deltas.
  if (choice.message && !gathered.hasDelta) takeDelta(gathered, choice.message, where)
  if (choice.finish_reason) gathered.finishReason = shortReason(choice.finish_reason)
  else if (choice.message) gathered.finishReason ??= 'stop'
}

function takeDelta(gathered: Gathered, delta: z.infer<typeof Delta>, where: Where): void {
  const { site, meter, offered } = where
  // One delta may carry the same thought under several names; show it once.
  const named = delta.reasoning_content ? 'reasoning_content' : delta.reasoning ? 'reasoning' : undefined
  if (named) {
    gathered.plain[named] += delta[named] ?? ''
    addReasoning(gathered, delta[named] ?? '', where)
  }
  for (const detail of delta.reasoning_details ?? []) {
    if (nestsTooDeep(detail)) throw invalidAnswer(site, 'a block of the reasoning is nested too deeply')
    meter.add('reasoning details', JSON.stringify(detail))
    addDetail(gathered.details, detail, meter)
    if (!named) addReasoning(gathered, detailText(detail), where)
  }
  if (typeof delta.content === 'string') addText(gathered, delta.content, where)
  else
    for (const { thinking, text } of delta.content ?? []) {
      const thought =
        typeof thinking === 'string' ? thinking : (thinking ?? []).map(piece => piece.text ?? '').join('')
      addReasoning(gathered, thought, where)
      addText(gathered, text ?? '', where)
    }
  if (delta.extra_content && !nestsTooDeep(delta.extra_content)) {
    meter.add('reasoning details', JSON.stringify(delta.extra_content))
    Object.assign(gathered.extra, delta.extra_content)
  }
  if (delta.refusal) {
    gathered.refused = true
    addText(gathered, delta.refusal, where)
  }
  for (const fragment of delta.tool_calls ?? []) addFragment(gathered.calls, fragment, offered, meter)
}

function addText(gathered: Gathered, piece: string, { meter, onChunk }: Where): void {
  if (piece === '') return
  meter.add('text', piece)
  gathered.text += piece
  onChunk({ type: 'text', text: piece })
}

function addReasoning(gathered: Gathered, piece: string, { meter, onChunk }: Where): void {
  if (piece === '') return
  meter.add('reasoning', piece)
  gathered.reasoning += piece
  onChunk({ type: 'reasoning', text: piece })
}

function finish(gathered: Gathered, request: ModelRequest, site: CallSite): ModelAnswer {
  const { text, reasoning, usage, model, refused } = gathered
  const calls = joinCalls(gathered.calls)
  const finishReason = gathered.finishReason ?? reasonOfEnd(gathered, calls)
  if (finishReason === undefined)
    throw invalidAnswer(
      site,
      gathered.hasChoice
        ? 'the answer ended before the model had finished (no finish_reason)'
        : `the answer has no choices. Check that base_url ${site.baseUrl} is an OpenAI-compatible API.`,
    )
  if (FAILED_REASONS.has(finishReason))
    throw new ModelError(
      'provider_error',
      say(site, `the server reports that the model failed (finish_reason ${finishReason})`),
      { retryable: true },
    )
  if (isWindowFull(finishReason, [text, reasoning], { calls: calls.length, ...usage }))
    throw windowFull(site, finishReason)
  const nameless = calls.find(call => call.name === '')
  if (nameless)
    throw invalidAnswer(site, `a tool call has no name (arguments: ${nameless.arguments.slice(0, 80)})`)
  const nameCall = callIds(request.messages)
  const made = calls.map((call, index) => ({ ...call, id: nameCall(call.id, index) }))
  const kept = keptFields(gathered, made)
  const message: AssistantMessageData = {
    role: 'assistant',
    content: request.json_schema ? jsonWithin(text) : text,
    ...(calls.length > 0
      ? {
          tool_calls: made.map(call => ({
            id: call.id,
            type: 'function' as const,
            function: { name: call.name, arguments: call.arguments === '' ? '{}' : call.arguments },
          })),
        }
      : {}),
    ...(Object.keys(kept).length > 0
      ? { reasoning_details: [{ format: REASONING_FORMAT, model: request.model, ...kept }] }
      : {}),
  }
  const finish_reason = refused ? 'content_filter' : settledReason(finishReason, calls.length > 0)
  return { message, reasoning, usage, finish_reason, model }
}

/**
 * What is returned with the next call: reasoning, and fields of calls. Reasoning as text is returned only
 * with tool calls and without blocks (repair/reasoning.ts); otherwise it is only in llm.thinking.
 */
function keptFields({ plain, details, extra }: Gathered, calls: readonly Call[]): Record<string, unknown> {
  const ofCalls = calls.filter(({ fields }) => Object.keys(fields).length > 0)
  return {
    ...(plain.reasoning_content && calls.length > 0 ? { reasoning_content: plain.reasoning_content } : {}),
    ...(plain.reasoning && calls.length > 0 && details.length === 0 ? { reasoning: plain.reasoning } : {}),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...(Object.keys(extra).length > 0 ? { extra_content: extra } : {}),
    ...(ofCalls.length > 0
      ? { call_fields: Object.fromEntries(ofCalls.map(({ id, fields }) => [id, fields])) }
      : {}),
  }
}

/** An end marker ends a whole answer without a finish reason; the end of the connection does not. */
function reasonOfEnd({ isEnded, text }: Gathered, calls: readonly Call[]): string | undefined {
  const isWhole = (text !== '' || calls.length > 0) && !calls.some(call => isOpen(call.json))
  return isEnded && isWhole ? 'stop' : undefined
}
