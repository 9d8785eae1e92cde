import type { Config } from '@cairn/protocol'
import type { Handler } from '../handler.ts'
import { DEFAULT_AGENT, disclosureText } from '@cairn/sessions'
import { agentNames } from './sessions.ts'

const ON_WORKERS = {
  terminal: 'on_workers',
  network: null,
  summary: 'Commands run in the runners of this database; the log of each runner names its sandbox.',
} as const

export const about: Handler<'about'> = async ({ services }) => {
  const { config, version, demo, sandbox = ON_WORKERS, skills } = services
  const { level } = config.disclosure
  const shown = disclosureText(config.disclosure, {
    agent: DEFAULT_AGENT,
    model: modelOf(config, DEFAULT_AGENT),
    language: null,
    hasCommands: false,
  })
  return {
    version,
    demo,
    sandbox,
    disclosure: { level, text: shown?.text ?? null },
    skills: [...((await skills?.()) ?? [])],
    agents: agentNames(services).map(name => ({
      name,
      model: modelOf(config, name),
    })),
    models: modelsOf(config),
    share_days: config.auth.share_days,
  }
}

/** Models of the agents, and catalog models whose provider is configured. */
const modelsOf = ({ agents, models }: Config): string[] => [
  ...new Set([
    ...(models.default === undefined ? [] : [models.default]),
    ...Object.values(agents).flatMap(({ model }) => model ?? []),
    ...Object.keys(models.catalog).filter(model =>
      Object.hasOwn(models.providers, model.slice(0, model.indexOf('/'))),
    ),
  ]),
]

const modelOf = (config: Config, agent: string): string =>
  config.agents[agent]?.model ?? config.models.default ?? 'demo'
