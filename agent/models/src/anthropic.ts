/** Anthropic's Messages API over its official SDK. */
import Anthropic, { APIConnectionError, APIError } from '@anthropic-ai/sdk'
import { readAnswerBody } from './answer-body.ts'
import { anthropicAnswer } from './anthropic-answer.ts'
import { anthropicBody, anthropicFacts, type AnthropicSettings } from './anthropic-request.ts'
import { errorIn, readErrorBody } from './error-body.ts'
import { END_MARKER } from './event-lines.ts'
import { fromConnection, fromServer, invalidAnswer, type CallSite } from './model-errors.ts'
import { ModelError, type ModelProvider } from './provider.ts'
import type { Fetch } from './plain-fetch.ts'
import { createServerProfiles, type ServerProfiles } from './servers/effective-profile.ts'
import { createLearnedFacts } from './servers/learned-facts.ts'
import { learnFrom } from './servers/learn.ts'
import { readRefusal } from './servers/refusal.ts'
import { createTransport, NO_TIMEOUT_MS, type ProxySettings, refusedBody, wrapRefusals } from './transport.ts'

export type AnthropicOptions = {
  /** The operator's name of the provider, for messages. */
  name: string
  baseUrl: string
  /** Absent: no key is sent. */
  apiKey?: string
  /** Facts about a model from the catalog: its output limit, and whether it thinks. */
  modelFacts?: (model: string) => { maxOutputTokens?: number; reasoning?: boolean }
  proxy?: ProxySettings
  /** What the server accepts; absent: what the API documents, and what this process learns. */
  profiles?: ServerProfiles
  /** Replaces the network in tests. */
  fetch?: Fetch
  now?: () => number
}

/** Accepted by every current model; the agent's max_tokens or the catalog's max_output_tokens override it. */
const DEFAULT_MAX_TOKENS = 8192

/** A provider over the official SDK. Retries and timeouts are the turn's, so it has none. */
export function createAnthropic(options: AnthropicOptions): ModelProvider {
  const transport = options.fetch ? undefined : createTransport(options.proxy)
  const fetch = options.fetch ?? transport?.fetch ?? globalThis.fetch
  const now = options.now ?? Date.now
  const profiles =
    options.profiles ??
    createServerProfiles({
      provider: options.name,
      kind: 'anthropic',
      baseUrl: options.baseUrl,
      facts: createLearnedFacts({ now }),
    })
  const client = new Anthropic({
    // Always set: otherwise the SDK reads credentials from the environment and its profile files.
    apiKey: options.apiKey ?? 'none',
    authToken: null,
    webhookKey: null,
    baseURL: options.baseUrl,
    maxRetries: 0,
    timeout: NO_TIMEOUT_MS,
    logLevel: 'off',
    fetch: wrapRefusals(fetch),
    ...(options.apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
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
      const facts = options.modelFacts?.(request.model) ?? {}
      const settings: AnthropicSettings = {
        maxTokens: request.max_tokens ?? facts.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
        reasoning: facts.reasoning ?? false,
        profile: profiles.of(request.model),
      }
      const answer = anthropicAnswer(request, site, onChunk)
      try {
        const body = anthropicBody(request, settings) as unknown as Anthropic.MessageCreateParamsStreaming
        const response = await client.messages.create(body, { signal }).asResponse()
        const take = (data: unknown, event?: string): void => {
          const error = event === 'error' ? data : errorIn(data)
          if (error !== undefined) throw new APIError(undefined, error as object, undefined, response.headers)
          answer.take(data)
        }
        await readAnswerBody(response, site, {
          onAlive: () => onChunk({ type: 'alive' }),
          onDocument: take,
          onEvent({ event, data }) {
            if (data.trim() === END_MARKER) {
              answer.end()
              return true
            }
            if (event !== 'ping') take(jsonOrText(data, event), event)
            return false
          },
        })
        return answer.finish()
      } catch (thrown) {
        signal.throwIfAborted()
        const error = meaningOf(thrown, site)
        if (!(error instanceof ModelError) || !(thrown instanceof APIError)) throw error
        const refusal = readRefusal(thrown.status, refusedBody(thrown))
        throw learnFrom(profiles, site, error, refusal, () => anthropicFacts(request, settings))
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

/** The data of an error event may be a sentence. */
function jsonOrText(data: string, event: string | undefined): unknown {
  try {
    return JSON.parse(data)
  } catch (error) {
    if (event === 'error') return data
    throw error
  }
}
