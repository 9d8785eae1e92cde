/**
 * /v1/chat/completions: conversations rendered by the model's template, answers split into reasoning, tool
 * calls and text.
 */
import { randomUUID } from 'node:crypto'
import { createChatParser, withFirstCall, type ChatEvent } from './chat-parser.ts'
import { withMarkers } from './harmony/markers.ts'
import { createHarmonyParser } from './harmony/parser.ts'
import { renderChat } from './chat-prompt.ts'
import { generateChoice, type ChoiceResult } from './choice.ts'
import type { ReplyContext, SendChunk } from './completions.ts'
import type { TokenReport } from './engine/sequence.ts'
import { badRequest } from './errors.ts'
import { formOf } from './form-request.ts'
import type {
  ChatChunk,
  ChatCompletion,
  ChatDelta,
  ChatLogprobs,
  ChatMessageReply,
  ChatRequest,
  FinishReason,
  TokenLogprob,
  ToolCall,
} from './protocol.ts'
import { checkRequest, editsFrom, stopsOf, toSampling, tokenName, truncatePrompt } from './sampling.ts'
import type { ServedModel } from './served-model.ts'
import { createStreamUsage, usageOf } from './usage.ts'

function listLogprobs(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  nameOf: (token: number) => string,
  reports: readonly TokenReport[],
): ChatLogprobs {
  const one = (token: number, logprob: number): TokenLogprob => ({
    token: nameOf(token),
    logprob,
    bytes: [...Buffer.from(tokenizer.decode([token]))],
  })
  return {
    content: reports.map(({ token, logprob, top }) => ({
      ...one(token, logprob),
      top_logprobs: top.map(([id, value]) => one(id, value)),
    })),
  }
}

/** Collects a parser's events into a message and converts them to deltas. */
function createMessage() {
  let content = ''
  let reasoning = ''
  const calls: ToolCall[] = []

  function add(event: ChatEvent): ChatDelta {
    switch (event.kind) {
      case 'content':
        content += event.text
        return { content: event.text }
      case 'reasoning':
        reasoning += event.text
        return { reasoning_content: event.text }
      case 'call': {
        const call: ToolCall = {
          id: `call_${randomUUID().replaceAll('-', '')}`,
          type: 'function',
          function: { name: event.name, arguments: '' },
        }
        calls.push(call)
        return {
          tool_calls: [{ index: event.index, ...call, function: { name: event.name, arguments: '' } }],
        }
      }
      case 'arguments': {
        const call = calls[event.index]
        if (call) call.function.arguments += event.text
        return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] }
      }
    }
  }
  return {
    add,
    finish: (reason: 'stop' | 'length'): FinishReason =>
      reason === 'stop' && calls.length > 0 ? 'tool_calls' : reason,
    message: (): ChatMessageReply => ({
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...(reasoning === '' ? {} : { reasoning_content: reasoning.trim() }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    }),
  }
}

/** Answers a request. A stream is sent by `send` as it is generated. */
export async function chat(
  model: ServedModel,
  request: ChatRequest,
  { id, created, name, adapter, signal }: ReplyContext,
  send: SendChunk,
): Promise<ChatCompletion> {
  checkRequest('/v1/chat/completions', request)
  const rendered = await renderChat(model, request, model.harmony !== undefined)
  const prompt = { ...rendered, ids: truncatePrompt(rendered.ids, request, model) }
  const form = await formOf(request, model, { request, prompt })
  const edits = await editsFrom(request, model)
  const logprobs = request.logprobs ? (request.top_logprobs ?? 0) : undefined
  if (!request.logprobs && request.top_logprobs)
    throw badRequest('top_logprobs needs logprobs to be true', 'top_logprobs')
  const reader = { ...model, tokenizer: model.harmony?.reader ?? model.tokenizer }
  const samplings = Array.from({ length: request.n ?? 1 }, (_, choice) =>
    toSampling(request, {
      model,
      edits,
      promptLength: prompt.ids.length,
      maxTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
      logprobs,
      promptLogprobs: false,
      choice,
    }),
  )
  const chunk = (
    index: number,
    delta: ChatDelta,
    end: Partial<ChatChunk['choices'][number]> = {},
  ): ChatChunk => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model: name,
    choices: [{ index, delta, logprobs: null, finish_reason: null, stop_reason: null, ...end }],
  })
  const usage = createStreamUsage(request, prompt.ids.length)
  const promptIds = request.return_token_ids ? { prompt_token_ids: prompt.ids } : {}
  const sendChunk = (...given: Parameters<typeof chunk>) => send({ ...chunk(...given), ...usage.now() })
  const list = (reports: readonly TokenReport[]) =>
    logprobs === undefined ? null : listLogprobs(model, tokenName(model, request), reports)

  const run = async (
    sampling: (typeof samplings)[number],
    index: number,
  ): Promise<ChoiceResult & { choice: ChatCompletion['choices'][number] }> => {
    const { harmony } = prompt
    const whole = harmony ? createHarmonyParser({ ...prompt, ...harmony }) : createChatParser(prompt)
    const parser = request.parallel_tool_calls === false ? withFirstCall(whole) : whole
    const message = createMessage()
    let unsent: TokenReport[] = []
    let named = 0
    /** Token ids that were not sent yet, if requested. */
    const idsOf = (ids: readonly number[]) => {
      named += ids.length
      return request.return_token_ids ? { token_ids: [...ids] } : {}
    }
    const sendDeltas = (events: readonly ChatEvent[]) => {
      for (const event of events) {
        const delta = message.add(event)
        if (!request.stream) continue
        sendChunk(index, delta, {
          logprobs: unsent.length > 0 ? list(unsent) : null,
          ...idsOf(unsent.map(({ token }) => token)),
        })
        unsent = []
      }
    }
    if (request.stream)
      send({ ...chunk(index, { role: 'assistant', content: '' }), ...usage.now(), ...promptIds })
    sendDeltas(parser.push(harmony ? withMarkers(prompt.prefix) : prompt.prefix))
    const result = await generateChoice(reader, {
      ids: prompt.ids,
      adapter,
      sampling,
      form,
      stop: stopsOf(request),
      includesStop: request.include_stop_str_in_output ?? false,
      skipsSpecial: request.skip_special_tokens ?? true,
      signal,
      onDelta({ text, reports, tokens }) {
        usage.count(index, tokens)
        unsent.push(...reports)
        sendDeltas(parser.push(text))
      },
    })
    sendDeltas(parser.flush())
    const end = { finish_reason: message.finish(result.finish), stop_reason: result.stopReason }
    usage.count(index, result.tokens)
    const rest = idsOf(result.ids.slice(named))
    if (request.stream)
      sendChunk(index, {}, { ...end, logprobs: unsent.length > 0 ? list(unsent) : null, ...rest })
    return {
      ...result,
      choice: {
        index,
        message: message.message(),
        logprobs: list(result.reports),
        ...end,
        ...(request.return_token_ids ? { token_ids: [...result.ids] } : {}),
      },
    }
  }
  const results = await Promise.all(samplings.map(run))
  const total = usageOf(prompt.ids.length, results, samplings.length)
  if (request.stream && usage.isRequested) send({ ...chunk(0, {}), choices: [], usage: total })
  return {
    id,
    object: 'chat.completion',
    created,
    model: name,
    choices: results.map(({ choice }) => choice),
    usage: total,
    ...promptIds,
  }
}
