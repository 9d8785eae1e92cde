/**
 * Any server with OpenAI's chat completions: OpenAI itself, OpenRouter, vLLM, llama.cpp, the scripted model.
 */
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { readAnswerBody } from './answer-body.ts'
import { errorIn, readErrorBody } from './error-body.ts'
import { END_MARKER } from './event-lines.ts'
import { fromConnection, fromServer, invalidAnswer, type CallSite } from './model-errors.ts'
import { openAIAnswer } from './openai-answer.ts'
import { openAIBody, openAIFacts } from './openai-request.ts'
import { ModelError, type ModelProvider } from './provider.ts'
import type { Fetch } from './plain-fetch.ts'
import { createServerProfiles, type ServerProfiles } from './servers/effective-profile.ts'
import { createLearnedFacts } from './servers/learned-facts.ts'
import { learnFrom } from './servers/learn.ts'
import { readRefusal } from './servers/refusal.ts'
import { createTransport, NO_TIMEOUT_MS, type ProxySettings, refusedBody, wrapRefusals } from './transport.ts'

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
    fetch: wrapRefusals(fetch),
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
        baseUrl: options.baseUrl,
        secrets: options.apiKey ? [options.apiKey] : [],
        now,
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
        const take = (chunk: unknown, event?: string): void => {
          const error = event === 'error' ? chunk : errorIn(chunk)
          if (error !== undefined) throw new APIError(undefined, error as object, undefined, response.headers)
          answer.take(chunk)
        }
        await readAnswerBody(response, site, {
          onAlive: () => onChunk({ type: 'alive' }),
          onDocument: take,
          onEvent({ event, data }) {
            if (data.trim() === END_MARKER) {
              answer.end()
              return true
            }
            take(JSON.parse(data), event)
            return false
          },
        })
        return answer.finish()
      } catch (error) {
        signal.throwIfAborted()
        const failure = meaningOf(error, site)
        if (!(failure instanceof ModelError) || !(error instanceof APIError)) throw failure
        const refusal = readRefusal(error.status, refusedBody(error))
        throw learnFrom(profiles, site, failure, refusal, () => openAIFacts(request, profile))
      }
    },
    ...(transport ? { close: transport.close } : {}),
  }
}

function meaningOf(thrown: unknown, site: CallSite): unknown {
  if (thrown instanceof ModelError) return thrown
  if (thrown instanceof APIConnectionError) return fromConnection(thrown, site)
  if (thrown instanceof APIError) {
    const { status, headers } = thrown
    return fromServer(
      {
        ...readErrorBody(refusedBody(thrown)),
        ...(status === undefined ? {} : { status }),
        ...(headers ? { headers } : {}),
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
