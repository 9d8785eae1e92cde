/**
 * /v1/completions: prompts as text or tokens, several at once, with echo and log-probabilities as
 * lm-evaluation-harness requests them.
 */
import type { LoadedAdapter } from './engine/adapters.ts'
import type { TokenReport } from './engine/sequence.ts'
import { generateChoice, type ChoiceResult } from './choice.ts'
import { checkBytes } from './chat-prompt.ts'
import { badRequest } from './errors.ts'
import { formOf } from './form-request.ts'
import {
  LIST_LIMITS,
  type Completion,
  type CompletionChoice,
  type CompletionLogprobs,
  type CompletionRequest,
} from './protocol.ts'
import { checkRequest, editsFrom, stopsOf, toSampling, tokenName, truncatePrompt } from './sampling.ts'
import { createStreamUsage, usageOf } from './usage.ts'
import type { ServedModel } from './served-model.ts'

/** The OpenAI API's default. */
const DEFAULT_MAX_TOKENS = 16

export type ReplyContext = {
  id: string
  created: number
  name: string
  adapter: LoadedAdapter | undefined
  signal: AbortSignal
}
/** Sends one event of a stream. */
export type SendChunk = (chunk: object) => void

type Prompt = { ids: readonly number[]; text: () => string }

async function readPrompts(
  model: Pick<ServedModel, 'maxModelLen' | 'maxPromptBytes' | 'texts' | 'tokenizer' | 'vocabSize'>,
  request: Pick<CompletionRequest, 'prompt' | 'n' | 'add_special_tokens' | 'truncate_prompt_tokens'>,
): Promise<Prompt[]> {
  const { texts, tokenizer, vocabSize } = model
  const { prompt, add_special_tokens: adds } = request
  const cut = (ids: readonly number[], text: string | undefined): Prompt => {
    const left = truncatePrompt(ids, request, model)
    return {
      ids: left,
      text: () => (text !== undefined && left.length === ids.length ? text : tokenizer.decode(left)),
    }
  }
  const isList = Array.isArray(prompt) && typeof prompt[0] !== 'number'
  const all = isList ? (prompt as (string | number[])[]) : [prompt as string | number[]]
  checkCounts(all.length, request.n ?? 1)
  for (const one of all) if (typeof one === 'string') checkBytes(one, model, 'prompt')
  const prompts: Prompt[] = []
  for (const one of all) {
    if (typeof one === 'string') {
      prompts.push(cut(await texts.encode(one, { isDocument: adds !== false }), one))
      continue
    }
    const stranger = one.find(id => id >= vocabSize)
    if (stranger !== undefined)
      throw badRequest(
        `Token id ${stranger} is out of vocabulary: the model has ${vocabSize} tokens.`,
        'prompt',
      )
    prompts.push(cut(one, undefined))
  }
  return prompts
}

function checkCounts(prompts: number, n: number): void {
  if (prompts > LIST_LIMITS.prompts)
    throw badRequest(`prompt has ${prompts} prompts; the maximum is ${LIST_LIMITS.prompts}.`, 'prompt')
  if (prompts * n > LIST_LIMITS.choices)
    throw badRequest(
      `${prompts} prompts with n ${n} request ${prompts * n} answers; ` +
        `the maximum is ${LIST_LIMITS.choices}. Send several requests.`,
      'n',
    )
}

/**
 * Limits for log-probabilities of prompts: those of one prompt are listed without yielding, and all are in
 * memory before the answer is sent.
 */
const MAX_PROMPT_LOGPROBS = { prompt: 300_000, request: 2_000_000 }

function checkLogprobs(prompts: readonly Prompt[], each: number): void {
  const counts = prompts.map(({ ids }) => ids.length * each)
  const [max, all] = [Math.max(...counts), counts.reduce((sum, count) => sum + count, 0)]
  if (max > MAX_PROMPT_LOGPROBS.prompt || all > MAX_PROMPT_LOGPROBS.request)
    throw badRequest(
      `echo and logprobs request ${all} log-probabilities, ${max} for one prompt; ` +
        `the maximum is ${MAX_PROMPT_LOGPROBS.request} in total and ${MAX_PROMPT_LOGPROBS.prompt} per ` +
        'prompt.',
      'logprobs',
    )
}

/** Log-probabilities in the legacy format. Of tokens with the same text the likeliest counts. */
function listLogprobs(
  nameOf: (token: number) => string,
  tokens: readonly { token: number; report: TokenReport | undefined }[],
  offset: number,
): CompletionLogprobs {
  const lists: CompletionLogprobs = { text_offset: [], token_logprobs: [], tokens: [], top_logprobs: [] }
  let at = offset
  for (const { token, report } of tokens) {
    const text = nameOf(token)
    lists.text_offset.push(at)
    lists.tokens.push(text)
    lists.token_logprobs.push(report ? report.logprob : null)
    const best: Record<string, number> = {}
    for (const [id, logprob] of report ? [...report.top, [report.token, report.logprob] as const] : []) {
      const name = nameOf(id)
      best[name] = Math.max(best[name] ?? -Infinity, logprob)
    }
    lists.top_logprobs.push(report ? best : null)
    at += text.length
  }
  return lists
}

const promptList = (ids: readonly number[], reports: readonly TokenReport[]) =>
  ids.map((token, i) => ({ token, report: i === 0 ? undefined : reports[i - 1] }))
const answerList = (reports: readonly TokenReport[]) =>
  reports.map(report => ({ token: report.token, report }))

/** Answers a request. A stream is sent by `send` as it is generated. */
export async function complete(
  model: ServedModel,
  request: CompletionRequest,
  context: ReplyContext,
  send: SendChunk,
): Promise<Completion> {
  checkRequest('/v1/completions', request)
  const prompts = await readPrompts(model, request)
  const form = await formOf(request, model)
  const edits = await editsFrom(request, model)
  const n = request.n ?? 1
  const echo = request.echo ?? false
  const logprobs = request.logprobs ?? undefined
  if (request.max_tokens === 0 && !echo)
    throw badRequest('max_tokens must be at least 1 unless echo is true', 'max_tokens')
  if (echo && logprobs !== undefined) checkLogprobs(prompts, n * (logprobs + 1))
  const { id, created, name, adapter, signal } = context
  const promptTokens = prompts.reduce((sum, { ids }) => sum + ids.length, 0)
  const usage = createStreamUsage(request, promptTokens)
  const reply = (choices: CompletionChoice[]): Completion => ({
    id,
    object: 'text_completion',
    created,
    model: name,
    choices,
  })
  const sendChoice = (choice: CompletionChoice) => send({ ...reply([choice]), ...usage.now() })
  const choices = prompts.flatMap((prompt, p) =>
    Array.from({ length: n }, (_, choice) => {
      const sampling = toSampling(request, {
        model,
        edits,
        promptLength: prompt.ids.length,
        maxTokens:
          request.max_tokens ??
          Math.min(DEFAULT_MAX_TOKENS, Math.max(1, model.maxModelLen - prompt.ids.length)),
        logprobs,
        promptLogprobs: echo && logprobs !== undefined,
        choice,
      })
      return { prompt, sampling, index: p * n + choice }
    }),
  )
  const nameOf = tokenName(model, request)
  const run = async ({
    prompt,
    sampling,
    index,
  }: (typeof choices)[number]): Promise<ChoiceResult & { choice: CompletionChoice }> => {
    const start = echo ? prompt.text() : ''
    let offset = start.length
    // The echo comes with the prompt's log-probabilities if requested, otherwise before the first text, or at
    // the end of an empty answer.
    let isEchoed = !echo
    let named = 0
    /** Token ids that were not sent yet; the first call includes the prompt's. */
    const idsOf = (ids: readonly number[]) => {
      if (!request.return_token_ids) return {}
      const isFirst = named === 0
      named += ids.length
      return { token_ids: [...ids], ...(isFirst ? { prompt_token_ids: prompt.ids } : {}) }
    }
    const part = (text: string, logprobsOf: CompletionLogprobs | null): CompletionChoice => ({
      index,
      text,
      logprobs: logprobsOf,
      finish_reason: null,
      stop_reason: null,
    })
    const sendPrompt = (logprobsOf: CompletionLogprobs | null) => {
      if (!isEchoed) sendChoice(part(start, logprobsOf))
      isEchoed = true
    }
    const lists = (tokens: Parameters<typeof listLogprobs>[1], from: number) =>
      logprobs === undefined ? null : listLogprobs(nameOf, tokens, from)
    const result = await generateChoice(model, {
      ids: prompt.ids,
      adapter,
      sampling,
      form,
      stop: stopsOf(request),
      includesStop: request.include_stop_str_in_output ?? false,
      skipsSpecial: request.skip_special_tokens ?? true,
      signal,
      ...(request.stream
        ? {
            onPrompt: reports => sendPrompt(lists(promptList(prompt.ids, reports), 0)),
            onDelta: ({ text, reports, tokens }) => {
              usage.count(index, tokens)
              sendPrompt(null)
              const tokenIds = idsOf(reports.map(({ token }) => token))
              sendChoice({ ...part(text, lists(answerList(reports), offset)), ...tokenIds })
              offset += text.length
            },
          }
        : {}),
    })
    const end = { finish_reason: result.finish, stop_reason: result.stopReason }
    usage.count(index, result.tokens)
    if (request.stream) {
      sendPrompt(null)
      sendChoice({ ...part('', null), ...end, ...idsOf(result.ids.slice(named)) })
    }
    const tokens = [
      ...(echo ? promptList(prompt.ids, result.promptReports) : []),
      ...answerList(result.reports),
    ]
    const whole = request.stream ? {} : idsOf(result.ids)
    return { ...result, choice: { ...part(start + result.text, lists(tokens, 0)), ...end, ...whole } }
  }
  const results = await Promise.all(choices.map(run))
  const total = usageOf(promptTokens, results, n)
  if (request.stream && usage.isRequested) send({ ...reply([]), usage: total })
  return { ...reply(results.map(({ choice }) => choice)), usage: total }
}
