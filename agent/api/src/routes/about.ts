import type { Config } from '@cairn/protocol'
import type { Handler } from '../handler.ts'
import { DEFAULT_AGENT, disclosureText } from '@cairn/sessions'
import { configOf } from '../settings.ts'
import { agentNames } from './sessions.ts'

const ON_WORKERS = {
  terminal: 'on_workers',
  network: null,
  summary: 'Commands run in the runners of this database; the log of each runner names its sandbox.',
} as const

export const about: Handler<'about'> = async ({ services, principal }) => {
  const { version, sandbox = ON_WORKERS, skills, settings } = services
  const { config, demo } = await configOf(services, principal)
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
    skills: [...((await skills?.()) ?? []), ...((await settings?.skills(principal.org_id)) ?? [])],
    agents: (await agentNames(services, principal)).map(name => {
      const description = config.agents[name]?.description
      return { name, model: modelOf(config, name), ...(description !== undefined && { description }) }
    }),
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
