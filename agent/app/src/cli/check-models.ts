/** The model servers of the configuration: whether they respond, and whether they list the agents' models. */
import { upstreamOf, type Upstream } from '@cairn/models'
import { asError, type Config, plural } from '@cairn/protocol'
import { nearest } from '@cairn/tooling/cli/nearest'
import { readConfig } from '../config/read-config.ts'
import { listModels } from '../settings/list-models.ts'
import type { Finding } from './finding.ts'

type Environment = Readonly<Record<string, string | undefined>>

const SHOWN_NAMES = 5

/** `named`: models to look for besides those of the agents. */
export async function checkModels(env: Environment, named: readonly string[] = []): Promise<Finding[]> {
  let config: Config
  try {
    config = readConfig(env).config
  } catch {
    // The configuration check reports it.
    return []
  }
  const used = new Set([...modelsOf(config), ...named])
  const providers = Object.entries(config.models.providers).filter(([, { kind }]) => kind !== 'scripted')
  const found = await Promise.all(
    providers.map(([name]) => {
      const upstream = upstreamOf(config.models, env, {}, name)
      const wanted = [...used]
        .filter(model => model.startsWith(`${name}/`))
        .map(model => model.slice(name.length + 1))
      return upstream === null ? [] : checkServer(env, `model ${name}`, upstream, wanted)
    }),
  )
  return found.flat()
}

function modelsOf({ models, agents }: Config): string[] {
  const ofAgents = Object.values(agents).flatMap(agent => [
    agent.model,
    agent.escalation_model,
    agent.summary_model,
    agent.advisor.model,
  ])
  return [models.default, ...ofAgents].filter(name => name !== undefined)
}

/** Any HTTP answer shows that the server is reachable; not every server has a list of its models. */
async function checkServer(
  env: Environment,
  check: string,
  upstream: Upstream,
  wanted: readonly string[],
): Promise<Finding[]> {
  const { base_url } = upstream
  if (env['HTTPS_PROXY'] || env['https_proxy'] || env['HTTP_PROXY'] || env['http_proxy'])
    return [{ check, verdict: 'warn', detail: `${base_url} is used through a proxy (not tested)` }]
  let listed: string[] | null
  try {
    listed = await listModels(upstream)
  } catch (error) {
    const { cause } = asError(error)
    const reason = cause instanceof Error ? cause.message : asError(error).message
    return [{ check, verdict: 'fail', detail: `${base_url} does not respond: ${reason}` }]
  }
  if (listed === null) return [{ check, verdict: 'ok', detail: `${base_url} is reachable` }]
  const known = new Set(listed)
  // Ollama adds the tag of a model.
  const missing = wanted.filter(model => !known.has(model) && !known.has(`${model}:latest`))
  return [
    { check, verdict: 'ok', detail: `${base_url} is reachable and lists ${plural(listed.length, 'model')}` },
    ...missing.map((model): Finding => {
      const meant = nearest(model, listed)
      const hint =
        meant === undefined
          ? `It lists: ${listed.slice(0, SHOWN_NAMES).join(', ')}`
          : `Did you mean "${meant}"?`
      return { check, verdict: 'warn', detail: `${base_url} does not list the model "${model}". ${hint}` }
    }),
  ]
}
