/** Sends one question to a completions server, with retries. */
import { setTimeout as sleep } from 'node:timers/promises'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'

export type AskOptions = {
  url: string
  headers?: Record<string, string>
  /** Attempts before a request counts as failed. */
  attempts: number
  timeoutMs: number
  signal?: AbortSignal | undefined
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

/** `finishReason` is kept for readers of the audit: `length` means that the reply was cut. */
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

/** The server's answer is not a completion. */
export class AskError extends Error {
  override name = 'AskError'
  readonly isRetryable: boolean
  constructor(message: string, isRetryable: boolean, options?: ErrorOptions) {
    super(message, options)
    this.isRetryable = isRetryable
  }
}

/** Retry only if the failure may be transient. A request that is invalid stays invalid. */
const isRetryableStatus = (status: number) => status >= 500 || status === 408 || status === 429

/** 1 s before the second attempt, then 1, 2, 4 … up to 10 s, as in the harness. */
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
  // An unknown model or path stays unknown on a retry.
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

/** The message of the API's error object, or the text itself. */
function messageOf(text: string): string {
  const parsed = z.object({ error: z.object({ message: z.string() }) }).safeParse(parseJson(text))
  return parsed.success ? parsed.data.error.message : text.slice(0, 500)
}

/** Undefined is not a completion either; the caller reports it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Node hides the reason (connection refused, reset) in the cause of "fetch failed", and for a name with
 * several addresses in the code.
 */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error
    ? `${error.message}: ` +
        `${error.cause.message || ('code' in error.cause && String(error.cause.code)) || error.cause.name}`
    : error.message
}
