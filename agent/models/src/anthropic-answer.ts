/**
 * Assembles the events of Anthropic's message stream into one answer; thinking blocks are kept verbatim,
 * including signatures.
 */
import { z } from 'zod'
import { argumentsText, shortReason, tokenCount } from './answer-fields.ts'
import { meterAnswer, type AnswerMeter } from './answer-limits.ts'
import { callIds } from './call-id.ts'
import { type BlockDelta, Event, KNOWN, type UsageWire, WholeMessage } from './anthropic-wire.ts'
import { isWindowFull, windowFull } from './finish-reason.ts'
import { invalidAnswer, type CallSite } from './model-errors.ts'
import type { AnswerInProgress } from './openai-answer.ts'
import type { AssistantMessageData, ModelAnswer, ModelChunk, ModelRequest } from './provider.ts'

type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | { type: 'tool_use'; id: string; name: string; json: string; given: string }
  | { type: 'other' }

const STOP_REASONS: Record<string, ModelAnswer['finish_reason']> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

/** The answer so far. */
type Gathered = {
  blocks: Map<number, Block>
  counts: { input: number; output: number; read: number; written: number; thought: number }
  model: string
  stopReason: string | undefined
  stopped: boolean
}

type Where = { site: CallSite; meter: AnswerMeter; show: (type: 'text' | 'reasoning', text: string) => void }

export function anthropicAnswer(
  request: ModelRequest,
  site: CallSite,
  onChunk: (chunk: ModelChunk) => void,
): AnswerInProgress {
  const gathered: Gathered = {
    blocks: new Map(),
    counts: { input: 0, output: 0, read: 0, written: 0, thought: 0 },
    model: request.model,
    stopReason: undefined,
    stopped: false,
  }
  const where: Where = {
    site,
    meter: meterAnswer(site),
    show: (type, text) => {
      if (text !== '') onChunk({ type, text })
    },
  }
  return {
    // Gateways that translate from OpenAI's protocol send its end marker instead of message_stop.
    end: () => void (gathered.stopped ||= gathered.stopReason !== undefined),
    take(raw) {
      const isObject = typeof raw === 'object' && raw !== null
      const whole = isObject && 'content' in raw ? WholeMessage.safeParse(raw) : null
      if (whole?.success) return takeWhole(gathered, whole.data, where)
      // New event types may appear at any time; ignore them.
      if (isObject && 'type' in raw && !KNOWN.has(raw.type)) return
      const parsed = Event.safeParse(raw)
      if (!parsed.success)
        throw invalidAnswer(
          site,
          `an event of the answer does not match the protocol: ${z.prettifyError(parsed.error)}`,
        )
      takeEvent(gathered, parsed.data, where)
    },
    finish: () => finish(gathered, request, site),
  }
}

function takeWhole(gathered: Gathered, message: z.infer<typeof WholeMessage>, where: Where): void {
  takeEvent(gathered, { type: 'message_start', message }, where)
  message.content.forEach((content_block, index) =>
    takeEvent(gathered, { type: 'content_block_start', index, content_block }, where),
  )
  takeEvent(
    gathered,
    { type: 'message_delta', delta: { stop_reason: message.stop_reason ?? 'end_turn' } },
    where,
  )
  takeEvent(gathered, { type: 'message_stop' }, where)
}

function takeEvent(gathered: Gathered, event: z.infer<typeof Event>, where: Where): void {
  switch (event.type) {
    case 'message_start':
      gathered.model = event.message.model ?? gathered.model
      return count(gathered, event.message.usage)
    case 'content_block_start': {
      const block = startBlock(event.content_block)
      meterBlock(where.meter, block)
      gathered.blocks.set(event.index, block)
      if (block.type === 'text') where.show('text', block.text)
      if (block.type === 'thinking') where.show('reasoning', block.thinking)
      return
    }
    case 'content_block_delta': {
      const block = gathered.blocks.get(event.index)
      if (block) return growBlock(block, event.delta, where)
      throw invalidAnswer(where.site, `received a delta for content block ${event.index} before its start`)
    }
    case 'message_delta':
      gathered.stopReason = event.delta.stop_reason ?? gathered.stopReason
      return count(gathered, event.usage)
    case 'message_stop':
      gathered.stopped = true
      return
    case 'content_block_stop':
  }
}

/** Totals so far; a message_delta may omit what message_start contained. */
function count({ counts }: Gathered, usage: z.infer<typeof UsageWire> | null | undefined): void {
  counts.input = tokenCount(usage?.input_tokens, counts.input)
  counts.output = tokenCount(usage?.output_tokens, counts.output)
  counts.read = tokenCount(usage?.cache_read_input_tokens, counts.read)
  counts.written = tokenCount(usage?.cache_creation_input_tokens, counts.written)
  counts.thought = tokenCount(usage?.output_tokens_details?.thinking_tokens, counts.thought)
}

function growBlock(block: Block, delta: z.infer<typeof BlockDelta>, { meter, show }: Where): void {
  if (block.type === 'text' && delta.type === 'text_delta') {
    meter.add('text', delta.text ?? '')
    block.text += delta.text ?? ''
    show('text', delta.text ?? '')
  } else if (block.type === 'thinking' && delta.type === 'thinking_delta') {
    meter.add('reasoning', delta.thinking ?? '')
    block.thinking += delta.thinking ?? ''
    show('reasoning', delta.thinking ?? '')
  } else if (block.type === 'thinking' && delta.type === 'signature_delta') {
    meter.add('reasoning details', delta.signature ?? '')
    block.signature += delta.signature ?? ''
  } else if (block.type === 'tool_use' && delta.type === 'input_json_delta') {
    meter.add('tool calls', delta.partial_json ?? '')
    block.json += delta.partial_json ?? ''
  }
}

function finish(
  { blocks, counts, model, stopReason, stopped }: Gathered,
  request: ModelRequest,
  site: CallSite,
): ModelAnswer {
  if (!stopped) throw invalidAnswer(site, 'the answer ended before the model had finished (no message_stop)')
  const ordered = [...blocks].toSorted(([a], [b]) => a - b).map(([, block]) => block)
  const text = ordered.map(block => (block.type === 'text' ? block.text : '')).join('')
  const nameCall = callIds(request.messages)
  const uses = ordered.filter(block => block.type === 'tool_use')
  const calls = uses.map((use, at) => ({
    id: nameCall(use.id, at),
    type: 'function' as const,
    function: { name: use.name, arguments: use.json || use.given },
  }))
  const forced = request.json_schema && calls.find(call => call.function.name === request.json_schema?.name)
  const kept = keptThinking(ordered)
  const message: AssistantMessageData = {
    role: 'assistant',
    content: forced ? forced.function.arguments : text,
    ...(calls.length > 0 && !forced ? { tool_calls: calls } : {}),
    ...(kept.length > 0 ? { reasoning_details: kept } : {}),
  }
  if (
    isWindowFull(stopReason ?? '', ordered.map(writtenIn), {
      calls: calls.length,
      output_tokens: counts.output,
    })
  )
    throw windowFull(site, stopReason ?? '')
  const reason = STOP_REASONS[stopReason ?? 'end_turn'] ?? shortReason(stopReason ?? 'stop')
  return {
    message,
    model,
    reasoning: ordered
      .map(block => (block.type === 'thinking' ? block.thinking : ''))
      .filter(Boolean)
      .join('\n\n'),
    usage: {
      input_tokens: counts.input + counts.read + counts.written,
      output_tokens: counts.output,
      reasoning_tokens: counts.thought,
      cache_read_tokens: counts.read,
      ...(counts.written > 0 ? { cache_write_tokens: counts.written } : {}),
    },
    finish_reason: forced && reason === 'tool_calls' ? 'stop' : reason,
  }
}

const writtenIn = (block: Block): string =>
  block.type === 'text' ? block.text : block.type === 'thinking' ? block.thinking : ''

function meterBlock(meter: AnswerMeter, block: Block): void {
  meter.count('blocks')
  if (block.type === 'text') meter.add('text', block.text)
  else if (block.type === 'thinking') {
    meter.add('reasoning', block.thinking)
    meter.add('reasoning details', block.signature)
  } else if (block.type === 'redacted_thinking') meter.add('reasoning details', block.data)
  else if (block.type === 'tool_use') {
    meter.count('tool calls')
    meter.add('tool calls', block.id + block.name + block.given)
  }
}

function startBlock(block: Record<string, unknown>): Block {
  const string = (key: string) => (typeof block[key] === 'string' ? block[key] : '')
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: string('text') }
    case 'thinking':
      return { type: 'thinking', thinking: string('thinking'), signature: string('signature') }
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: string('data') }
    case 'tool_use':
      return {
        type: 'tool_use',
        id: string('id'),
        name: string('name'),
        json: '',
        given: argumentsText(block['input'] ?? {}),
      }
    default:
      return { type: 'other' }
  }
}

/**
 * What is returned with the next call: the thinking blocks and, only if thinking came between other blocks,
 * placeholders that preserve their order (`text_of`: this number of characters of the content, `call_of`: the
 * next tool call).
 */
function keptThinking(blocks: readonly Block[]): Record<string, unknown>[] {
  const isThinking = (block: Block) => block.type === 'thinking' || block.type === 'redacted_thinking'
  const thinking = blocks.filter(isThinking)
  const leading = blocks.findIndex(block => !isThinking(block))
  const inOrder = leading === -1 || leading === thinking.length
  return (inOrder ? thinking : blocks).flatMap((block): Record<string, unknown>[] => {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') return [{ ...block }]
    if (block.type === 'text') return [{ type: 'text_of', length: block.text.length }]
    return block.type === 'tool_use' ? [{ type: 'call_of' }] : []
  })
}
