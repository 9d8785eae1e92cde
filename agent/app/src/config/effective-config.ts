/**
 * From the file's content to the configuration that the service runs with: the demo model if no model is
 * named, and every name checked.
 */
import { isInternalHost } from '@cairn/sandbox/egress'
import { Config, type ConfigInput, type McpServerConfig } from '@cairn/protocol'
import { ConfigError } from './config-error.ts'
import { checkPatterns, egressOf, type Problem } from './check-patterns.ts'
import { nearest } from '@cairn/tooling/cli/nearest'
import type { ConfigSource } from './parse-config.ts'

export type EffectiveConfig = {
  config: Config
  /** No model is configured, so the scripted one answers; all outputs say so. */
  demo: boolean
}

const DEMO_MODEL = 'demo/scripted'
const DEFAULT_AGENT = 'assistant'

/**
 * The demo asks before it runs a command or changes a file, so that a first try shows an approval, with or
 * without a terminal.
 */
const DEMO_AGENT: ConfigInput = {
  agents: {
    [DEFAULT_AGENT]: { model: DEMO_MODEL, governance: { require_approval: ['terminal', 'edit_file'] } },
  },
}

export function resolveConfig(
  given: Config,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
  { lineOf, isGiven }: ConfigSource,
): EffectiveConfig {
  const { config, demo } = withModels(given)
  const say = ({ path, message }: Problem): string => `${path.join('.')}: ${message}`
  const problems = [
    ...checkNames(config).map(say),
    ...checkEgress(config).map(say),
    ...checkPatterns(given, isGiven).map(problem => `${lineOf(problem.path)}${say(problem)}`),
    ...checkEnvironment(config, environment),
  ]
  if (problems.length > 0) throw new ConfigError(file, problems)
  return { config, demo }
}

/** The demo model if no model is named, else each agent with its model. */
export function withModels(given: Config): EffectiveConfig {
  const named = [given.models.default, ...Object.values(given.agents).map(agent => agent.model)].some(
    model => model !== undefined,
  )
  return { config: named ? withDefaultModel(given) : withDemo(given), demo: !named }
}

/** What is wrong with a configuration on any machine: names, models, hosts and tools. */
export const problemsOf = (given: Config, isGiven: ConfigSource['isGiven']): Problem[] => {
  const { config } = withModels(given)
  return [...checkNames(config), ...checkEgress(config), ...checkPatterns(given, isGiven)]
}

/** Providers without a named model are valid: keys are set up first, the model is chosen next. */
function withDemo(given: Config): Config {
  const agents = Object.keys(given.agents).length > 0 ? given.agents : Config.parse(DEMO_AGENT).agents
  return {
    ...given,
    models: {
      ...given.models,
      default: DEMO_MODEL,
      providers: { ...given.models.providers, demo: { kind: 'scripted' } },
    },
    agents: eachAgent(agents, DEMO_MODEL),
  }
}

function withDefaultModel(given: Config): Config {
  const agents =
    Object.keys(given.agents).length > 0
      ? given.agents
      : Config.parse({ agents: { [DEFAULT_AGENT]: {} } } satisfies ConfigInput).agents
  return { ...given, agents: eachAgent(agents, given.models.default) }
}

const eachAgent = (agents: Config['agents'], model: string | undefined): Config['agents'] =>
  Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => [
      name,
      model === undefined ? agent : { ...agent, model: agent.model ?? model },
    ]),
  )

/** Every model that the configuration may use, with the path that names it. */
export function* modelsOf(config: Config): Generator<[path: string[], model: string | undefined]> {
  yield [['models', 'default'], config.models.default]
  for (const [name, agent] of Object.entries(config.agents)) {
    const at = ['agents', name]
    yield [[...at, 'model'], agent.model]
    yield [[...at, 'escalation_model'], agent.escalation_model]
    yield [[...at, 'summary_model'], agent.summary_model]
    yield [[...at, 'goals', 'evaluator_model'], agent.goals.evaluator_model]
    yield [[...at, 'missions', 'evaluator_model'], agent.missions.evaluator_model]
    yield [[...at, 'advisor', 'model'], agent.advisor.model]
    yield [[...at, 'review', 'model'], agent.review.model]
  }
  for (const [name, expert] of Object.entries(config.experts))
    yield [['experts', name, 'model'], expert.model]
}

export const providerOf = (model: string): string => model.slice(0, model.indexOf('/'))

function checkNames(config: Config): Problem[] {
  const problems: Problem[] = []
  const providers = Object.keys(config.models.providers)
  for (const [path, model] of modelsOf(config)) {
    if (model === undefined || providers.includes(providerOf(model))) continue
    const message =
      `"${model}" uses the provider "${providerOf(model)}", which models.providers does ` +
      `not define${hint(providerOf(model), providers)}`
    problems.push({ path, message })
  }
  for (const [name, agent] of Object.entries(config.agents)) {
    const at = ['agents', name]
    if (agent.model === undefined)
      problems.push({ path: [...at, 'model'], message: 'missing model: set it here or in models.default' })
    for (const expert of agent.experts) {
      if (Object.hasOwn(config.experts, expert)) continue
      const message = `unknown expert "${expert}"${hint(expert, Object.keys(config.experts))}`
      problems.push({ path: [...at, 'experts'], message })
    }
  }
  return problems
}

/** Rejects settings that used to allow internal hosts and would now be ignored silently. */
const checkEgress = (config: Config): Problem[] =>
  egressOf(config)
    .filter(([[section]]) => section !== 'mcp_servers')
    .flatMap(([path, { allow }]) =>
      allow.filter(isInternalHost).map(host => ({
        path: [...path, 'allow'],
        message:
          `"${host}" is an internal address: ` +
          'list it under egress.internal, because allow accepts host names only',
      })),
    )

const hint = (word: string, known: readonly string[]): string => {
  const meant = nearest(word, known)
  return meant === undefined ? ` (defined: ${known.join(', ') || 'none'})` : ` (did you mean "${meant}"?)`
}

/** Checks the variables that used parts need. The key of an unused provider may be missing. */
/** The variables that the login of an MCP server names. */
export const authVariables = ({
  auth,
}: Extract<McpServerConfig, { url: string }>): { key: string; variable: string }[] =>
  (['client_secret_env', 'private_key_env', 'assertion_env'] as const).flatMap(key => {
    const variable = auth?.oauth[key]
    return variable === undefined ? [] : [{ key, variable }]
  })

function checkEnvironment(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const problems: string[] = []
  const used = new Set(
    [...modelsOf(config)].flatMap(([, model]) => (model === undefined ? [] : [providerOf(model)])),
  )
  const require = (path: string, name: string): void => {
    if (!environment[name]) problems.push(`${path}: the environment variable ${name} is not set`)
  }
  for (const name of used) {
    const provider = config.models.providers[name]
    if (provider !== undefined && 'api_key_env' in provider && provider.api_key_env !== undefined)
      require(`models.providers.${name}.api_key_env`, provider.api_key_env)
  }
  const mail = config.notices.mail?.smtp.password_env
  if (mail !== undefined) require('notices.mail.smtp.password_env', mail)
  for (const [name, { token_env }] of Object.entries(config.code.repos))
    if (token_env !== undefined) require(`code.repos.${name}.token_env`, token_env)
  for (const [name, server] of Object.entries(config.mcp_servers)) {
    if ('url' in server) {
      for (const [header, variable] of Object.entries(server.headers_env))
        require(`mcp_servers.${name}.headers_env.${header}`, variable)
      for (const { key, variable } of authVariables(server))
        require(`mcp_servers.${name}.auth.oauth.${key}`, variable)
    } else for (const variable of server.env) require(`mcp_servers.${name}.env`, variable)
  }
  return problems
}
