/** The tool by which a model gives a task to a coding agent: the call runs until the run ends. */
import { CommitRefused } from '@cairn/log'
import { codeRunResult, codeRunStarted, derivedId } from '@cairn/sessions'
import type { CodeRun } from '@cairn/state'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { repoOf } from './command.ts'
import type { DriveDeps, Driven } from './drive.ts'
import { inPlace } from './in-place.ts'

export const CODE_TOOL = 'run_coding_agent'

const Parameters = z.strictObject({
  prompt: z.string().trim().min(1).max(100_000).describe('the task; the agent cannot see this conversation'),
  agent: z.string().max(64).optional().describe('default: the first one listed'),
  repo: z.string().max(64).optional().describe('a repository to work in; default: the workspace'),
})

export function codeTool(deps: DriveDeps): Tool {
  const { runner, claimed, setup, agents } = deps
  return defineTool({
    name: CODE_TOOL,
    description:
      'Give a coding task to a coding agent that works on it by itself in the workspace, and wait for what ' +
      `it comes to. Agents: ${agents.names.join(', ')}. ` +
      (agents.repos.length === 0 ? '' : `Repositories: ${agents.repos.join(', ')}. `) +
      'Say all it needs to know.',
    parameters: Parameters,
    readOnly: false,
    // The run's id derives from the call: calling again continues it and does not start another.
    idempotent: true,
    timeoutMs: () => Number.POSITIVE_INFINITY,
    async run({ prompt, agent = agents.names[0]!, repo }, { tool_call_id }) {
      if (!agents.names.includes(agent))
        return {
          content: { error: `unknown coding agent ${agent}; available: ${agents.names.join(', ')}` },
        }
      const run = await beginOfCall(deps, { prompt, agent, repo, tool_call_id })
      if ('error' in run) return { content: run }
      const driven = await inPlace(runner, { claimed, setup }, run)
      // Another runner, or this one after a decision, repeats the call.
      return driven.how === 'ended' ? outcomeOf(driven) : { content: '', suspend: 'children' }
    },
  })
}

async function beginOfCall(
  { claimed: { session, log }, setup, agents }: DriveDeps,
  {
    prompt,
    agent,
    repo,
    tool_call_id,
  }: { prompt: string; agent: string; repo: string | undefined; tool_call_id: string },
): Promise<CodeRun | { error: string }> {
  const known = (): CodeRun | undefined => log.position().code.find(run => run.tool_call_id === tool_call_id)
  const begun = known()
  if (begun !== undefined) return begun
  const call = log.position().conversation.open.find(open => open.tool_call_id === tool_call_id)
  const source_event_id = call?.call_event_id ?? null
  if (source_event_id === null) throw new Error(`[${CODE_TOOL}] the call ${tool_call_id} is not in the log`)
  const run_id = derivedId(session.id, source_event_id, 'code')
  const place = repoOf({ agents }, repo, run_id)
  if (typeof place === 'string') return { error: place }
  try {
    await log.append([
      codeRunStarted(session.id, {
        run_id,
        agent,
        provider: agents.modelOf(agent, setup.model),
        prompt,
        source_event_id,
        tool_call_id,
        ...place,
      }),
    ])
  } catch (error) {
    if (!(error instanceof CommitRefused) || error.refusal !== 'code_run_exists') throw error
    return { error: 'a coding agent is already running in this session: only one can run at a time' }
  }
  const made = known()
  if (made === undefined) throw new Error('[code] a run vanished within its own commit')
  return made
}

function outcomeOf({ result, before, rows }: Extract<Driven, { how: 'ended' }>): ToolOutcome {
  const { run_id, error, final_message, files_changed } = result
  return {
    content: {
      ...(error === null ? {} : { error }),
      run_id,
      final_message,
      ...(files_changed === undefined ? {} : { files_changed }),
    },
    events: [...before, codeRunResult(result)],
    linked: { rows },
  }
}
