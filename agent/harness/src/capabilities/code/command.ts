/** The effect of `/code`: a run starts, or a reply. */
import { CommitRefused, type EventWithRows } from '@cairn/log'
import { formatDuration } from '@cairn/protocol'
import { codeRunStarted, derivedId } from '@cairn/sessions'
import {
  CODE_USAGE,
  type CodeCommand,
  liveRun,
  type SlashMessage,
  splitTask,
  waitsForDecision,
} from '@cairn/state'
import type { TurnContext } from '../../turn/context.ts'
import { usageList } from '../usage-list.ts'
import { branchOf } from './checkout.ts'
import type { Coding } from './coding.ts'

/** The start event of the run, committed before anything starts; or the reply. */
export function beginByCommand(
  { log, setup, clock }: Pick<TurnContext, 'log' | 'setup' | 'clock'>,
  coding: Coding | null,
  command: CodeCommand,
  { event_id }: Pick<SlashMessage, 'event_id'>,
): EventWithRows | string {
  const session = log.session()
  switch (command.action) {
    case 'help':
      return usageList(CODE_USAGE)
    case 'agents':
      return coding === null || coding.agents.names.length === 0
        ? noAgents(coding)
        : coding.agents.names.map((name, at) => (at === 0 ? `- ${name} (default)` : `- ${name}`)).join('\n')
    case 'status':
      return statusOf(log.position().code, clock.now())
    case 'run': {
      if (coding === null || coding.agents.names.length === 0) return noAgents(coding)
      if (session.parent_id !== null) return 'Workers cannot run coding agents. Use the parent session.'
      const run_id = derivedId(session.id, event_id, 'code')
      const repo = repoOf(coding, command.repo, run_id)
      if (typeof repo === 'string') return repo
      const running = liveRun(log.position().code)
      if (running !== null)
        return `${running.agent} is already working on "${running.prompt.slice(0, 80)}". Use /stop to end it.`
      const { names } = coding.agents
      const { agent, task } = splitTask(command.text, names, names[0]!)
      return codeRunStarted(session.id, {
        run_id,
        agent,
        provider: command.model ?? coding.agents.modelOf(agent, setup.model),
        prompt: task,
        source_event_id: event_id,
        ...repo,
      })
    }
  }
}

/** The repository fields of a run's start event, or why it cannot work there. */
export function repoOf(
  { agents }: Pick<Coding, 'agents'>,
  name: string | undefined,
  run_id: string,
): { repo?: string; branch?: string } | string {
  if (name === undefined) return {}
  if (agents.repos.includes(name)) return { repo: name, branch: branchOf(run_id) }
  return agents.repos.length === 0
    ? 'No repositories are configured in code.repos.'
    : `Unknown repository ${name}. Available: ${agents.repos.join(', ')}.`
}

const noAgents = (coding: Coding | null): string =>
  `No coding agent can run here: ${coding?.agents.reason ?? 'none is configured'}.`

function statusOf(runs: Parameters<typeof liveRun>[0], now: number): string {
  const run = liveRun(runs)
  if (run === null) return 'No coding agent is running in this session.'
  const state = waitsForDecision(run) ? 'is waiting for a decision' : 'is working'
  const since = formatDuration(now - Date.parse(run.started_at))
  return `${run.agent} ${state} on "${run.prompt.slice(0, 200)}", started ${since} ago.`
}

/** The reply if the commit of a run's start was refused; null: another error. */
export const refusedRun = (thrown: unknown): string | null =>
  thrown instanceof CommitRefused && thrown.refusal === 'code_run_exists'
    ? 'A coding agent is already running in this session: only one can run at a time.'
    : null
