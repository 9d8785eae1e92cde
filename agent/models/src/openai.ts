/**
 * Any server with OpenAI's chat completions: OpenAI itself, OpenRouter, vLLM, llama.cpp, the scripted model.
 */
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { meterStream } from './answer-limits.ts'
import { readEvents, readWhole } from './event-stream.ts'
import {
  fromConnection,
  fromServer,
  invalidAnswer,
  say,
  type CallSite,
  type ServerFailure,
} from './model-errors.ts'
import { openAIAnswer } from './openai-answer.ts'
import { openAIBody, openAIFacts } from './openai-request.ts'
import { ModelError, type ModelProvider } from './provider.ts'
import type { Fetch } from './plain-fetch.ts'
import { createServerProfiles, type ServerProfiles } from './servers/effective-profile.ts'
import { createLearnedFacts } from './servers/learned-facts.ts'
import { learnFrom } from './servers/learn.ts'
import { readRefusal } from './servers/refusal.ts'
import { createTransport, NO_TIMEOUT_MS, type ProxySettings, readableRefusals } from './transport.ts'

/** Makes the SDK send a text body unchanged. */
const JSON_BODY = { 'content-type': 'application/json' }

export type OpenAIOptions = {
  /** The operator's name of the provider, for messages. */
  name: string
  baseUrl: string
  /** Absent: no Authorization header is sent. */
  apiKey?: string
  headers?: Readonly<Record<string, string>>
  proxy?: ProxySettings
  /** What the server accepts; absent: what its host is known for, and what this process learns. */
  profiles?: ServerProfiles
  /** Replaces the network in tests. */
  fetch?: Fetch
  now?: () => number
}

/** A provider over the official SDK. Retries and timeouts are the turn's, so it has none. */
export function createOpenAI(options: OpenAIOptions): ModelProvider {
  const transport = options.fetch ? undefined : createTransport(options.proxy)
  const fetch = options.fetch ?? transport?.fetch ?? globalThis.fetch
  const now = options.now ?? Date.now
  const profiles =
    options.profiles ??
    createServerProfiles({
      provider: options.name,
      kind: 'openai',
      baseUrl: options.baseUrl,
      facts: createLearnedFacts({ now }),
    })
  const client = new OpenAI({
    apiKey: options.apiKey ?? 'none',
    baseURL: options.baseUrl,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
    fetch: readableRefusals(fetch),
    // Null instead of absent: otherwise the SDK reads these from the process environment.
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    defaultHeaders: { ...(options.apiKey === undefined ? { authorization: null } : {}), ...options.headers },
  })

  return {
    async call(request, onChunk, signal) {
      signal.throwIfAborted()
      const site: CallSite = {
        provider: options.name,
        model: request.model,
        secrets: options.apiKey ? [options.apiKey] : [],
        now,
      }
      const count = meterStream(site)
      const onBytes = (bytes: Uint8Array): void => {
        count(bytes)
        onChunk({ type: 'alive' })
      }
      const answer = openAIAnswer(request, site, onChunk)
      const profile = profiles.of(request.model)
      try {
        const response = await client
          .post('/chat/completions', {
            body: openAIBody(request, profile),
            headers: JSON_BODY,
            stream: true,
            signal,
          })
          .asResponse()
        const type = response.headers.get('content-type') ?? ''
        if (type.includes('text/html')) {
          await response.body?.cancel()
          throw new ModelError(
            'configuration',
            say(
              site,
              `${options.baseUrl} answered with a web page; expected an OpenAI-compatible API (check ` +
                'base_url)',
            ),
            { retryable: false },
          )
        }
        // A server without streaming answers with the whole completion.
        if (type.includes('application/json'))
          answer.take(wholeCompletion(JSON.parse(await readWhole(response, onBytes)), site, response.headers))
        else
          await readEvents(response, onBytes, ({ event, data }) => {
            if (data === '[DONE]') return true
            answer.take(chunkOf(event, JSON.parse(data), response.headers))
            return false
          })
        return answer.finish()
      } catch (error) {
        signal.throwIfAborted()
        const failure = meaningOf(error, site)
        if (!(failure instanceof ModelError) || !(error instanceof APIError)) throw failure
        const refusal = readRefusal(error.status, error.error, error.message)
        throw learnFrom(profiles, site, failure, refusal, () => openAIFacts(request, profile))
      }
    },
    ...(transport ? { close: transport.close } : {}),
  }
}

/** A server that fails in the middle of a stream sends an error instead of a chunk. */
function chunkOf(event: string | undefined, data: unknown, headers: Headers): unknown {
  const error = typeof data === 'object' && data !== null && 'error' in data ? data.error : undefined
  if (event === 'error' || error) throw new APIError(undefined, (error ?? data) as object, undefined, headers)
  return data
}

function wholeCompletion(body: unknown, site: CallSite, headers: Headers): unknown {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  if (!error) return body
  throw fromServer({ ...failureOf(error), headers }, site)
}

function meaningOf(thrown: unknown, site: CallSite): unknown {
  if (thrown instanceof ModelError) return thrown
  if (thrown instanceof APIConnectionError) return fromConnection(thrown, site)
  if (thrown instanceof APIError) {
    const { status, headers } = thrown
    const failure = failureOf(thrown.error)
    return fromServer(
      {
        ...failure,
        ...(status === undefined ? {} : { status }),
        ...(headers ? { headers } : {}),
        message: failure.message || thrown.message,
        cause: thrown,
      },
      site,
    )
  }
  if (thrown instanceof SyntaxError)
    return invalidAnswer(site, `the answer is not the JSON of the protocol: ${thrown.message}`, thrown)
  // fetch throws this when the connection breaks within the body.
  if (thrown instanceof TypeError && thrown.cause instanceof Error) return fromConnection(thrown, site)
  return thrown
}

/** The error object of an answer: `{message, type, code}`, or whatever the server sent instead. */
function failureOf(error: unknown): ServerFailure {
  if (typeof error !== 'object' || error === null)
    return { kinds: [], message: typeof error === 'string' ? error : '' }
  const { message, type, code } = error as Record<string, unknown>
  return {
    kinds: [code, type].filter(kind => typeof kind === 'string' || typeof kind === 'number').map(String),
    message: typeof message === 'string' ? message : JSON.stringify(error),
  }
}
