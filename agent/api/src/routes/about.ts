import type { Handler } from '../handler.ts'
import { agentNames } from './sessions.ts'

type Level = 'none' | 'basic' | 'enhanced' | 'full'

/** What a person is told before they speak with the agent, by the level that the operator chose. */
const DISCLOSURE: Record<Level, string | null> = {
  none: null,
  basic: 'You are talking to an AI system.',
  enhanced:
    'You are talking to an AI system. It can make mistakes; check what matters before you rely on it.',
  full:
    'You are talking to an AI system. It can make mistakes; check what matters before you rely on it. ' +
    'Everything said and done in a session is recorded in its event log, which the operator of this ' +
    'service can read.',
}

const ON_WORKERS = {
  terminal: 'on_workers',
  network: null,
  summary: 'Commands run on the workers of this database; each says in its log what they run in.',
} as const

export const about: Handler<'about'> = async ({ services }) => {
  const { config, version, demo, sandbox = ON_WORKERS } = services
  const { level } = config.disclosure
  return {
    version,
    demo,
    sandbox,
    disclosure: { level, text: DISCLOSURE[level] },
    agents: agentNames(services).map(name => ({
      name,
      model: config.agents[name]?.model ?? config.models.default ?? 'demo',
    })),
  }
}
