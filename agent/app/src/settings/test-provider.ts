/** Tests a model provider as an agent would use it: its key, its models, and one small call. */
import { callWatched, createLearnedFacts, createModels, ModelError, upstreamOf } from '@cairn/models'
import { systemClock } from '@cairn/models/clock'
import { type AnswerOf, asError, plural } from '@cairn/protocol'
import { askForModels } from './list-models.ts'
import { type OrgConfig, type OrgConfigs, providerKeys } from './org-configs.ts'
import type { Reach } from './reach.ts'
import { fetchOfEdited } from './session-scopes.ts'

type Result = AnswerOf<'testProvider'>
type Deps = {
  orgs: OrgConfigs
  reach: Reach
  env: Readonly<Record<string, string | undefined>>
  scriptedUrls: Readonly<Record<string, string>>
}

/** Enough for a model that reasons first. */
const MAX_TOKENS = 2000
const LIMITS = { llm_stale_s: 30, llm_stale_reasoning_s: 60, llm_call_s: 60, llm_retries: 0 }

export async function testProvider(
  deps: Deps,
  org: OrgConfig,
  name: string,
  model: string | undefined,
): Promise<Result> {
  const startedAt = systemClock.monotonic()
  const result = (ok: boolean, detail: string, rest: Partial<Result> = {}): Result => ({
    ok,
    detail,
    ms: Math.round(systemClock.monotonic() - startedAt),
    advice: null,
    models: null,
    ...rest,
  })
  const { env, scriptedUrls } = deps
  const keys = providerKeys(org)
  const fetchOf = fetchOfEdited(org, deps)
  const upstream = upstreamOf(org.config.models, env, scriptedUrls, name)
  if (upstream === null) return result(false, `Unknown provider ${name}`)
  const key = keys[name] ?? upstream.key
  const listed = await askForModels({ ...upstream, key }, fetchOf(name)).catch(asError)
  if (listed instanceof Error)
    return result(false, `${upstream.base_url} does not respond: ${causeOf(listed)}`, {
      advice: 'Check the address, and that the server is running',
    })
  const { status, models } = listed
  if (status === 401 || status === 403)
    return result(false, `The server rejected the key (${status})`, { advice: 'Replace the key' })
  if (model === undefined)
    return models === null
      ? result(true, `The server responds (${status}) and gives no list of its models`)
      : result(true, `The server lists ${plural(models.length, 'model')}`, { models })
  const made = createModels(org.config.models, env, scriptedUrls, createLearnedFacts(), { keys, fetchOf })
  try {
    const served = made.resolve(`${name}/${model}`)
    const calling = { clock: systemClock, signal: new AbortController().signal, random: Math.random }
    const { usage } = await callWatched({ ...calling, report: () => {}, limits: LIMITS }, served, {
      model: served.model,
      messages: [{ role: 'user', content: 'This is a test of the connection. Answer with the word OK.' }],
      tools: [],
      max_tokens: MAX_TOKENS,
    })
    const tokens = `${usage.input_tokens} input and ${usage.output_tokens} output tokens`
    return result(true, `${model} answered (${tokens})`, { models })
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return result(false, error.message, { advice: adviceFor(error), models })
  } finally {
    await made.close()
  }
}

const causeOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message : message)

function adviceFor({ category, message }: ModelError): string | null {
  if (category === 'configuration') return 'Set the key of this provider'
  if (/\b(?:401|403)\b|api key|unauthori[sz]ed/i.test(message)) return 'Replace the key'
  if (/\b404\b|not (?:found|exist)|unknown model/i.test(message))
    return 'Choose a model that the server lists'
  if (/\b429\b|quota|credit|billing/i.test(message)) return 'Check the quota and the billing of the account'
  return category === 'network' || category === 'timeout' ? 'Check the address, and try again' : null
}
