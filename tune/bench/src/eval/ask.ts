/** One question to a completions server, asked again where that can help. */
import { setTimeout as sleep } from 'node:timers/promises'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'

export type AskOptions = {
  url: string
  headers?: Record<string, string>
  /** Times a request is made before it counts as failed. */
  attempts: number
  timeoutMs: number
  signal?: AbortSignal | undefined
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/** `finishReason` is kept for whoever reads the audit: `length` says that the reply was cut. */
export type Reply = {
  text: string
  finishReason: string | undefined
  promptTokens: number | undefined
  completionTokens: number | undefined
}

const replySchema = z.looseObject({
  choices: z
    .array(
      z.looseObject({ index: z.int().optional(), text: z.string(), finish_reason: z.string().nullish() }),
    )
    .min(1),
  usage: z
    .looseObject({ prompt_tokens: z.number().optional(), completion_tokens: z.number().optional() })
    .nullish(),
})

/** The server answered, and not with a completion. */
export class AskError extends Error {
  override name = 'AskError'
  readonly isRetryable: boolean
  constructor(message: string, isRetryable: boolean, options?: ErrorOptions) {
    super(message, options)
    this.isRetryable = isRetryable
  }
}

/** What was wrong with the request stays wrong; everything else may pass. */
const isRetryableStatus = (status: number) => status >= 500 || status === 408 || status === 429

/** Before the second attempt 1 s, then 1, 2, 4 … up to 10 s, as the harness waits. */
const waitMsAfter = (attempt: number) => Math.min(10_000, Math.max(1000, 500 * 2 ** (attempt - 1)))

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  sleep(ms, undefined, signal ? { signal } : {})

export async function ask(body: object, options: AskOptions): Promise<Reply> {
  const { attempts, signal, wait = pause } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await askOnce(body, options)
    } catch (error) {
      signal?.throwIfAborted()
      const isFinal =
        attempt >= attempts ||
        error instanceof InputError ||
        (error instanceof AskError && !error.isRetryable)
      if (isFinal) throw error
      await wait(waitMsAfter(attempt), signal)
    }
  }
}

async function askOnce(body: object, { url, headers, timeoutMs, signal }: AskOptions): Promise<Reply> {
  const limit = AbortSignal.timeout(timeoutMs)
  let response: Response
  let text: string
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    text = await response.text()
  } catch (error) {
    throw new AskError(
      `POST ${url}: ` +
        (limit.aborted
          ? `no answer within ${timeoutMs / 1000} s`
          : `${describe(error)}; is the server running?`),
      true,
      { cause: error },
    )
  }
  // Nothing of that name is there: neither model nor path comes by being asked again.
  if (response.status === 404)
    throw new InputError(
      `POST ${url}: 404 ${messageOf(text)} GET ${url.replace(/completions$/, 'models')} lists the ` +
        'served models.',
    )
  if (!response.ok)
    throw new AskError(
      `POST ${url}: ${response.status} ${messageOf(text)}`,
      isRetryableStatus(response.status),
    )
  const parsed = replySchema.safeParse(parseJson(text))
  if (!parsed.success)
    throw new AskError(
      `POST ${url}: expected a completion with choices[].text, got ${text.slice(0, 500)}`,
      true,
    )
  const { choices, usage } = parsed.data
  const choice = choices.find(({ index }) => index === 0) ?? choices[0]
  if (!choice) throw new Error('[ask] a parsed completion has a choice')
  return {
    text: choice.text,
    finishReason: choice.finish_reason ?? undefined,
    promptTokens: usage?.prompt_tokens,
    completionTokens: usage?.completion_tokens,
  }
}

/** What an error object of the API says; else the text as it came. */
function messageOf(text: string): string {
  const parsed = z.object({ error: z.object({ message: z.string() }) }).safeParse(parseJson(text))
  return parsed.success ? parsed.data.error.message : text.slice(0, 500)
}

/** Undefined is no completion either; the caller says so. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Node hides what happened (connection refused, reset) in the cause of "fetch failed", and for a name with
 * several addresses in the code.
 */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error
    ? `${error.message}: ` +
        `${error.cause.message || ('code' in error.cause && String(error.cause.code)) || error.cause.name}`
    : error.message
}
