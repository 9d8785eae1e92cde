/**
 * Resolves "<provider>/<model>" to a callable model. Providers are created on first use; keys are read from
 * the environment once.
 */
import type { Config, ProviderConfig, Rates } from '@cairn/protocol'
import type { AnthropicOptions } from './anthropic.ts'
import { contextWindowOf } from './catalog.ts'
import type { Fetch } from './plain-fetch.ts'
import { ModelError, type ModelProvider } from './provider.ts'
import { createServerProfiles, type ProfileFact, type ServerProfiles } from './servers/effective-profile.ts'
import { createLearnedFacts, type LearnedFacts } from './servers/learned-facts.ts'
import type { ServerProfile } from './servers/profiles.ts'
import { proxySettings } from './transport.ts'

export type ResolvedModel = {
  /** The full name, `<provider>/<model>`, as in the events. */
  name: string
  provider: ModelProvider
  /** The server's name of the model, for ModelRequest.model. */
  model: string
  rates: Rates | undefined
  contextWindow: number
  maxOutputTokens: number | undefined
  /** It thinks before it answers, so the longer stale timeout applies. */
  reasoning: boolean
  /** It answers from a scenario; the UI shows that. */
  scripted: boolean
  /** What its server accepts, as far as is known now. */
  serverProfile(): ServerProfile
}

export type Models = {
  /** Throws ModelError (category configuration) if the name is unknown or the key is missing. */
  resolve(name: string): ResolvedModel
  /** What the model's server accepts, fact by fact, and how each is known. Throws like resolve. */
  explainServer(name: string): ProfileFact[]
  /** Values that must not reach events, log lines or exports. */
  secrets: readonly string[]
  close(): Promise<void>
}

type Env = Readonly<Record<string, string | undefined>>

const VENDOR_KEY: Record<'openai' | 'anthropic', { host: string; env: string }> = {
  openai: { host: 'api.openai.com', env: 'OPENAI_API_KEY' },
  anthropic: { host: 'api.anthropic.com', env: 'ANTHROPIC_API_KEY' },
}

/** What the configuration does not say about providers that an administrator added. */
export type AddedProviders = {
  /** Stored keys by provider. A variable that the configuration names wins over them. */
  keys?: Readonly<Record<string, string>>
  /** The fetch that reaches the provider; undefined: the usual one. */
  fetchOf?: (provider: string) => Fetch | undefined
}

/**
 * `scriptedUrls`: base URL of each scripted provider (see startScriptedProviders in scripted-providers.ts).
 */
export function createModels(
  models: Config['models'],
  env: Env,
  scriptedUrls: Readonly<Record<string, string>> = {},
  learned: LearnedFacts = createLearnedFacts(),
  added: AddedProviders = {},
): Models {
  const made = new Map<string, MadeProvider>()
  const known = Object.keys(models.providers)
  const providerOf = (name: string): MadeProvider => {
    const config = models.providers[name]
    if (!config)
      throw misconfigured(
        `unknown model provider "${name}"; defined providers: ` +
          `${known.length > 0 ? known.join(', ') : 'none (models.providers is empty)'}`,
      )
    const existing = made.get(name)
    if (existing) return existing
    const provider = makeProvider(name, config, { models, env, scriptedUrls, learned, added })
    made.set(name, provider)
    return provider
  }

  return {
    secrets: [...modelSecrets(models, env), ...Object.values(added.keys ?? {})],
    resolve(name) {
      const { providerName, model } = splitName(name)
      const { provider, profiles } = providerOf(providerName)
      const rates = models.catalog[name]
      return {
        name,
        provider,
        model,
        rates,
        contextWindow: contextWindowOf(rates),
        maxOutputTokens: rates?.max_output_tokens,
        reasoning: rates?.reasoning ?? false,
        scripted: models.providers[providerName]?.kind === 'scripted',
        serverProfile: () => profiles.of(model),
      }
    },
    explainServer(name) {
      const { providerName, model } = splitName(name)
      return providerOf(providerName).profiles.explain(model)
    },
    async close() {
      await Promise.all([...made.values()].map(({ provider }) => provider.close?.()))
    },
  }
}

/** The values of the providers' keys. */
export const modelSecrets = (models: Config['models'], env: Env): string[] =>
  Object.values(models.providers)
    .map(provider => env[keyName(provider) ?? ''] ?? '')
    .filter(secret => secret !== '')

function splitName(name: string): { providerName: string; model: string } {
  const slash = name.indexOf('/')
  if (slash < 1 || slash === name.length - 1)
    throw misconfigured(`invalid model name "${name}": must be <provider>/<model>`)
  return { providerName: name.slice(0, slash), model: name.slice(slash + 1) }
}

type MadeProvider = { provider: ModelProvider; profiles: ServerProfiles }
type ProviderDeps = {
  models: Config['models']
  env: Env
  scriptedUrls: Readonly<Record<string, string>>
  learned: LearnedFacts
  added: AddedProviders
}

function makeProvider(name: string, config: ProviderConfig, deps: ProviderDeps): MadeProvider {
  const { models, env, scriptedUrls, learned, added } = deps
  const profilesAt = (kind: 'openai' | 'anthropic', baseUrl: string): ServerProfiles =>
    createServerProfiles({
      provider: name,
      kind,
      baseUrl,
      catalogue: model => models.catalog[`${name}/${model}`]?.server,
      facts: learned,
    })
  if (config.kind === 'scripted') {
    const url = scriptedUrls[name]
    if (url === undefined)
      throw misconfigured(`the scripted model server of provider "${name}" is not running`)
    const profiles = profilesAt('openai', url)
    const provider = loadedOnUse(async () =>
      (await import('./openai.ts')).createOpenAI({ name, baseUrl: url, profiles }),
    )
    return { provider, profiles }
  }
  const variable = keyName(config)
  const stored = added.keys?.[name]
  const fetch = added.fetchOf?.(name)
  const named = config.api_key_env === undefined ? undefined : env[config.api_key_env]
  const key = named ?? stored ?? (variable === undefined ? undefined : env[variable])
  if (variable !== undefined && !key)
    throw misconfigured(
      `provider "${name}" needs its API key in the environment variable ${variable}, which is ` +
        `${key === '' ? 'empty' : 'not set'}`,
    )
  const profiles = profilesAt(config.kind, config.base_url)
  const common = {
    name,
    baseUrl: config.base_url,
    proxy: proxySettings(env),
    profiles,
    ...(key ? { apiKey: key } : {}),
    ...(fetch === undefined ? {} : { fetch }),
  }
  if (config.kind === 'openai') {
    const { headers } = config
    const provider = loadedOnUse(async () =>
      (await import('./openai.ts')).createOpenAI({ ...common, headers }),
    )
    return { provider, profiles }
  }
  const anthropic: AnthropicOptions = {
    ...common,
    modelFacts: model => {
      const rates = models.catalog[`${name}/${model}`]
      return {
        reasoning: rates?.reasoning ?? false,
        ...(rates?.max_output_tokens === undefined ? {} : { maxOutputTokens: rates.max_output_tokens }),
      }
    },
  }
  const provider = loadedOnUse(async () => (await import('./anthropic.ts')).createAnthropic(anthropic))
  return { provider, profiles }
}

/** A provider as reached by something other than our client, such as the broker of coding agents. */
export type Upstream = {
  kind: 'openai' | 'anthropic'
  base_url: string
  /** Undefined: no key is needed. */
  key: string | undefined
  headers: Readonly<Record<string, string>>
}

/** Null if the provider is unknown. */
export function upstreamOf(
  models: Config['models'],
  env: Env,
  scriptedUrls: Readonly<Record<string, string>>,
  name: string,
): Upstream | null {
  const config = models.providers[name]
  if (config === undefined) return null
  if (config.kind === 'scripted') {
    const base_url = scriptedUrls[name]
    return base_url === undefined ? null : { kind: 'openai', base_url, key: undefined, headers: {} }
  }
  const variable = keyName(config)
  return {
    kind: config.kind,
    base_url: config.base_url,
    key: variable === undefined ? undefined : env[variable],
    headers: config.kind === 'openai' ? config.headers : {},
  }
}

/**
 * The variable that holds a provider's key: the configured one, or the vendor's default if the server is the
 * vendor's own.
 */
function keyName(config: ProviderConfig): string | undefined {
  if (config.kind === 'scripted') return undefined
  if (config.api_key_env !== undefined) return config.api_key_env
  const vendor = VENDOR_KEY[config.kind]
  return new URL(config.base_url).hostname === vendor.host ? vendor.env : undefined
}

const misconfigured = (message: string): ModelError =>
  new ModelError('configuration', message, { retryable: false })

/**
 * A provider whose code is loaded with its first call: each vendor's SDK takes some 10 MB, and most services
 * use one vendor.
 */
function loadedOnUse(load: () => Promise<ModelProvider>): ModelProvider {
  let loading: Promise<ModelProvider> | null = null
  return {
    async call(request, onChunk, signal) {
      loading ??= load()
      return (await loading).call(request, onChunk, signal)
    },
    async close() {
      await (await loading)?.close?.()
    },
  }
}
