/**
 * An evaluation over HTTP: all questions of a data set, several at a time, to a server of the completions API
 * (contract T6).
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { InputError, makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import { ask, type AskOptions } from './ask.ts'
import { openAudit, type Generation } from './audit.ts'
import {
  FILTERS,
  extractAnswer,
  gsm8kRequest,
  isExactMatch,
  scoreOf,
  type FilterName,
  type Score,
} from './gsm8k.ts'

export type Question = { question: string; answer: string }

export type EvalOptions = {
  /** URL of the completions endpoint, or of the server. */
  url: string
  /** The model or adapter, as the server names it. */
  model: string
  questions: readonly Question[]
  /** Source of the questions, for the result file. */
  source: string
  outputDir: string
  concurrency?: number
  attempts?: number
  timeoutMs?: number
  headers?: Record<string, string>
  signal?: AbortSignal
  onProgress?: (progress: EvalProgress) => void
  wait?: AskOptions['wait']
}
export type EvalProgress = { done: number; total: number; correct: number }
export type EvalResult = {
  scores: Record<FilterName, Score>
  /** Replies cut at the maximum length. */ cut: number
  resumed: number
  seconds: number
}

export const AUDIT_FILE = 'samples_gsm8k.jsonl'
export const RESULTS_FILE = 'results.json'

/**
 * Asks the questions that the audit file does not have yet, then scores all of them. A failed request ends
 * the evaluation; earlier answers are kept.
 */
export async function evaluate(options: EvalOptions): Promise<EvalResult> {
  const {
    model,
    questions,
    source,
    outputDir,
    concurrency = 50,
    attempts = 3,
    timeoutMs = 300_000,
    onProgress,
  } = options
  if (questions.length < 2)
    throw new InputError(`${source}: an evaluation needs at least 2 questions, got ${questions.length}`)
  const url = completionsUrl(options.url)
  const startedAt = performance.now()
  await makeDirectory(outputDir, 'output path')
  const fingerprint = fingerprintOf(url, model, questions)
  await using audit = await disposable(
    openAudit(join(outputDir, AUDIT_FILE), {
      fingerprint,
      task: 'gsm8k',
      url,
      model,
      source,
      questions: questions.length,
    }),
  )
  const { done } = audit.value
  const resumed = done.size
  const correct = () => [...done.values()].filter(generation => generation.is_right['strict-match']).length
  const report = () => onProgress?.({ done: done.size, total: questions.length, correct: correct() })
  report()

  const failed = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, failed.signal]) : failed.signal
  const open = questions
    .map((question, index) => ({ ...question, index }))
    .filter(({ index }) => !done.has(index))
  const askOne = async ({ question, answer, index }: (typeof open)[number]) => {
    const request = gsm8kRequest(model, question)
    const reply = await ask(request, {
      url,
      attempts,
      timeoutMs,
      signal,
      ...(options.headers && { headers: options.headers }),
      ...(options.wait && { wait: options.wait }),
    })
    const generation = scoreReply({
      index,
      question,
      reference: answer,
      prompt: request.prompt,
      reply: reply.text,
      finish_reason: reply.finishReason,
      prompt_tokens: reply.promptTokens,
      completion_tokens: reply.completionTokens,
    })
    await audit.value.append(generation)
    done.set(index, generation)
    report()
  }
  const ask50 = async () => {
    for (let next = open.shift(); next !== undefined && !signal.aborted; next = open.shift())
      await askOne(next)
  }
  const workers = Array.from({ length: concurrency }, () =>
    ask50().catch((error: unknown) => {
      // The first failure causes all that follow.
      if (!failed.signal.aborted) failed.abort(error)
    }),
  )
  await Promise.all(workers)
  options.signal?.throwIfAborted()
  if (failed.signal.aborted) throw failed.signal.reason

  const generations = [...done.values()].toSorted((a, b) => a.index - b.index)
  const scores = Object.fromEntries(
    FILTERS.map(filter => [filter, scoreOf(generations.map(({ is_right }) => is_right[filter] === true))]),
  ) as Record<FilterName, Score>
  const result = {
    scores,
    cut: generations.filter(({ finish_reason }) => finish_reason === 'length').length,
    resumed,
    seconds: (performance.now() - startedAt) / 1000,
  }
  await writeTextAtomically(
    join(outputDir, RESULTS_FILE),
    `${JSON.stringify(resultsOf(result, { url, model, source, concurrency, attempts }), null, 2)}\n`,
  )
  return result
}

/** Uses the harness's names for results, so that both can be read alike. */
function resultsOf(
  { scores, cut, resumed, seconds }: EvalResult,
  config: { url: string; model: string; source: string; concurrency: number; attempts: number },
) {
  const named = FILTERS.flatMap(
    filter =>
      [
        [`exact_match,${filter}`, scores[filter].accuracy],
        [`exact_match_stderr,${filter}`, scores[filter].stderr],
      ] as const,
  )
  return {
    results: { gsm8k: { alias: 'gsm8k', ...Object.fromEntries(named) } },
    'n-samples': { gsm8k: { effective: scores['strict-match'].total } },
    'n-shot': { gsm8k: 0 },
    versions: { gsm8k: 3 },
    config: {
      model: config.model,
      base_url: config.url,
      dataset: config.source,
      num_concurrent: config.concurrency,
      max_retries: config.attempts,
    },
    cut_at_max_tokens: cut,
    resumed_generations: resumed,
    seconds,
  }
}

function scoreReply(
  generation: Omit<
    Generation,
    'extracted' | 'is_right' | 'finish_reason' | 'prompt_tokens' | 'completion_tokens'
  > & {
    finish_reason: string | undefined
    prompt_tokens: number | undefined
    completion_tokens: number | undefined
  },
): Generation {
  const { finish_reason, prompt_tokens, completion_tokens, ...rest } = generation
  const extracted = Object.fromEntries(FILTERS.map(filter => [filter, extractAnswer(filter, rest.reply)]))
  return {
    ...rest,
    ...(finish_reason !== undefined && { finish_reason }),
    ...(prompt_tokens !== undefined && { prompt_tokens }),
    ...(completion_tokens !== undefined && { completion_tokens }),
    extracted,
    is_right: Object.fromEntries(
      Object.entries(extracted).map(([filter, answer]) => [filter, isExactMatch(answer, rest.reference)]),
    ),
  }
}

/** Completes `http://host:port` to the address of the endpoint. */
export function completionsUrl(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new InputError(`${url}: expected the URL of a server, such as http://localhost:8001`)
  if (parsed.pathname.endsWith('/completions')) return parsed.href
  const path = parsed.pathname.replace(/\/+$/, '')
  return new URL(`${path.endsWith('/v1') ? path : `${path}/v1`}/completions`, parsed).href
}

/** Leaves out the port, so that the same questions to the same adapter resume on a restarted server. */
function fingerprintOf(url: string, model: string, questions: readonly Question[]): string {
  const { hostname, pathname } = new URL(url)
  return createHash('sha256')
    .update(JSON.stringify([hostname, pathname, model, questions]))
    .digest('hex')
}

const disposable = async <T extends { close: () => Promise<void> }>(opening: Promise<T>) => {
  const value = await opening
  return { value, [Symbol.asyncDispose]: () => value.close() }
}
