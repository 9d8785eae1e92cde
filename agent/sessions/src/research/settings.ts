/** Settings of research, and whether an agent can do it at all. */
import {
  type AgentConfig,
  findPattern,
  type ResearchInput,
  type ResearchLevels,
  type ResearchSettings,
} from '@cairn/protocol'

export const researchSettings = (input: ResearchInput, levels: ResearchLevels): ResearchSettings => ({
  ...input,
  levels,
})

/** The name of the invalid part of the request, and why the agent cannot do such research; null if it can. */
export function researchProblem(
  agent: Pick<AgentConfig, 'workers' | 'governance' | 'tools'>,
  { mode }: Pick<ResearchInput, 'mode'>,
  hasTerminal: boolean,
): { path: string; message: string } | null {
  if (!agent.workers.enabled)
    return {
      path: 'research',
      message: 'research branches are workers, and workers are off for this agent (workers.enabled)',
    }
  const needed = mode === 'metric' ? 'terminal' : 'web_fetch'
  const path = 'research.mode'
  if (!allows(agent, needed))
    return { path, message: `mode ${mode} needs the tool ${needed}, which this agent is not allowed to use` }
  return mode === 'metric' && !hasTerminal
    ? { path, message: 'mode metric runs a command, and the terminal is not available on this machine' }
    : null
}

function allows({ governance, tools }: Pick<AgentConfig, 'governance' | 'tools'>, tool: string): boolean {
  const { denied_tools, allowed_tools } = governance
  const lists = [tools, allowed_tools.length === 0 ? undefined : allowed_tools]
  return (
    findPattern(denied_tools, tool) === undefined &&
    lists.every(list => list === undefined || findPattern(list, tool) !== undefined)
  )
}
