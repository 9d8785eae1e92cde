/**
 * Scores files with the operator's command (mode metric). It runs like a terminal command in a temporary
 * copy, so its side effects are not changes of the branch, and no branch controls how it is measured.
 */
import { AgentConfig, type ResearchMetric } from '@cairn/protocol'
import { isOffered } from '../../governance/decide.ts'
import type { Tool } from '../../tools/tool.ts'
import type { RunnerDeps } from '../../runner-deps.ts'

export type Measured = { score: number | null; why: string }
/** Context of a measurement: the tools, the rules of the agent, and the command. */
export type Measuring = {
  runner: Pick<RunnerDeps, 'tools' | 'newId'>
  agent: Pick<AgentConfig, 'governance' | 'tools'>
  session_id: string
  metric: ResearchMetric
  signal: AbortSignal
}

const TERMINAL = 'terminal'
/** A number that is not part of a word or a range, such as v2 or 3-4. */
const NUMBER = /(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*[A-Za-z_])/g

/** `folder`: an absolute path that the command may change. */
export async function measure(
  { runner, agent, session_id, metric, signal }: Measuring,
  folder: string,
): Promise<Measured> {
  const terminal = runner.tools().find(({ name }) => name === TERMINAL)
  const rules = { policy: agent.governance, agentTools: agent.tools }
  if (terminal === undefined || !isOffered(TERMINAL, rules))
    return { score: null, why: 'the terminal is not available, so nothing was measured' }
  const timeout = metric.timeout_s
  const { content } = await terminal.run(
    // Numbers on stderr are not part of the metric.
    { command: `exec 2>/dev/null\n${metric.command}`, timeout },
    {
      session_id,
      tool_call_id: runner.newId(),
      turn_id: runner.newId(),
      workspace: folder,
      signal,
      timeoutMs: timeout * 1000,
      egress: agent.governance.egress,
    },
  )
  return readMeasured(content)
}

/** The score in the result of a command. */
export function readMeasured(content: Awaited<ReturnType<Tool['run']>>['content']): Measured {
  if (typeof content === 'string') return { score: null, why: 'the command gave no result' }
  const { error, exit_code, output } = content
  if (typeof error === 'string') return { score: null, why: error }
  if (exit_code !== 0) return { score: null, why: `the command ended with exit code ${String(exit_code)}` }
  const last = String(output).match(NUMBER)?.at(-1)
  const score = last === undefined ? Number.NaN : Number(last)
  return Number.isFinite(score)
    ? { score, why: 'measured' }
    : { score: null, why: 'the command printed no number' }
}
