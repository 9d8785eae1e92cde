/**
 * One commit that creates children: their sessions with a first message each, their links, and the events of
 * the parent's log.
 */
import type { CommitRefused, LinkedCommit, RowChange } from '@cairn/log'
import { cutAt, type EventDraft, type WorkerKind } from '@cairn/protocol'
import { type ChildPlan, derivedId, goalMessage, openChild } from '@cairn/sessions'
import { z } from 'zod'
import { agentNames } from '../../governance/agent.ts'
import { noBudget, shareBudget, unpriced } from './budget.ts'
import type { SpawnContext } from './spawn-context.ts'

/** The model's parameters for one child. */
export const ChildParameters = {
  goal: z.string().trim().min(1).max(20_000).describe('what the worker must achieve, and how to verify it'),
  context: z.string().max(50_000).optional().describe('what it must know; it cannot see this conversation'),
  agent: z.string().optional().describe('the agent to run; default: the same as yours'),
  model: z.string().optional().describe('<provider>/<model>; default: that of the agent'),
  role: z
    .enum(['leaf', 'orchestrator'])
    .optional()
    .describe('an orchestrator can have its own workers; default: leaf'),
  tools: z.array(z.string()).optional().describe('limits it to these tools'),
  max_iterations: z.int().min(1).optional().describe('maximum number of its model calls'),
  isolation: z
    .enum(['share', 'copy'])
    .optional()
    .describe(
      'share: it works in your workspace; copy: it works in a copy, and apply_worker_files applies its ' +
        'changes. Default: copy, or share for a single goal that you wait for',
    ),
}
export type SpawnInput = z.output<z.ZodObject<typeof ChildParameters>>

export type Spawned = {
  ids: string[]
  events: EventDraft[]
  rows: RowChange[]
  also: LinkedCommit[]
}

/** Why these children cannot be created; null: they can. */
export function spawnProblem(place: SpawnContext, inputs: readonly SpawnInput[]): string | null {
  const seen = new Set<string>()
  for (const input of inputs) {
    const problem = inputProblem(place, input) ?? equalGoal(place, input) ?? unpriced(place, input)
    if (problem !== null) return problem
    if (seen.has(goalKey(place, input))) return `two of the goals are the same: ${quote(input.goal)}`
    seen.add(goalKey(place, input))
  }
  return shareBudget(place, inputs.length) === null ? noBudget(place) : null
}

function inputProblem(
  place: SpawnContext,
  { agent, model, role, max_iterations }: SpawnInput,
): string | null {
  const { limits, depth, session, runner } = place
  const agents = allowedAgents(place)
  const named = agent ?? session.agent
  if (!agents.includes(named))
    return agentNames(runner.config).includes(named)
      ? `agent ${quote(named)} cannot be a worker of this one; allowed: ${agents.join(', ') || 'none'}`
      : `unknown agent ${quote(named)}; allowed as workers: ${agents.join(', ') || 'none'}`
  if (model !== undefined && !limits.models.includes(model))
    return (
      `model ${quote(model)} is not allowed for workers; ` +
      `${limits.models.length === 0 ? 'omit it' : `allowed: ${limits.models.join(', ')}`}`
    )
  if (role === 'orchestrator' && depth + 1 >= limits.max_depth)
    return (
      `an orchestrator at depth ${depth + 1} cannot have workers: the maximum depth is ` +
      `${limits.max_depth}; make it a leaf`
    )
  if (max_iterations !== undefined && max_iterations > limits.max_iterations)
    return `max_iterations must be at most ${limits.max_iterations}`
  return null
}

export const allowedAgents = ({ limits, session }: SpawnContext): string[] => [
  ...new Set(limits.agents.map(name => (name === 'self' ? session.agent : name))),
]

const quote = (text: string): string => JSON.stringify(cutAt(text, 100))
const normal = (goal: string): string => goal.normalize('NFC').toLowerCase().replaceAll(/\s+/g, ' ').trim()
export const goalKey = (
  { session }: SpawnContext,
  { goal, agent }: Pick<SpawnInput, 'goal' | 'agent'>,
): string => `${agent ?? session.agent}\n${normal(goal)}`

/** The same goal twice at the same time is a mistake of the model. */
function equalGoal(place: SpawnContext, input: SpawnInput): string | null {
  const { open } = place.claimed.log.position().children
  const same = open.find(
    child =>
      child.agent === (input.agent ?? place.session.agent) &&
      // Only the beginning of a long goal is recorded.
      (normal(child.goal) === normal(input.goal) ||
        (child.goal.length >= 500 && input.goal.startsWith(child.goal))),
  )
  return same === undefined ? null : `worker ${same.worker_id} is already working on this goal`
}

export function composeSpawn(
  place: SpawnContext,
  toolCallId: string,
  kind: Exclude<WorkerKind, 'task'>,
  inputs: readonly SpawnInput[],
  isolation: 'share' | 'copy',
): Spawned {
  const ids = inputs.map((_, index) => derivedId(place.session.id, toolCallId, index))
  const spawned: Spawned = { ids, events: [], rows: [], also: [] }
  const budgets = shareBudget(place, inputs.length) ?? []
  for (const [index, input] of inputs.entries()) {
    const { event, row, part } = openChild(
      place.session,
      {
        child_id: ids[index] ?? '',
        root_id: place.root_id,
        depth: place.depth + 1,
        kind,
        tool_call_id: toolCallId,
        task_id: null,
        attempt: null,
      },
      { ...planOf(place, input), isolation, budget: budgets[index] },
      goalMessage(input.goal, input.context),
    )
    spawned.events.push(event)
    spawned.rows.push(row)
    spawned.also.push(part)
  }
  return spawned
}

export const planOf = ({ session, limits }: SpawnContext, input: Omit<SpawnInput, 'context'>): ChildPlan => ({
  goal: input.goal,
  agent: input.agent ?? session.agent,
  model: input.model,
  role: input.role ?? 'leaf',
  tools: input.tools,
  max_iterations: Math.min(input.max_iterations ?? limits.max_iterations, limits.max_iterations),
  max_open: limits.max_open,
  max_total: limits.max_total,
})

/** Why the commit of a spawn was refused, for the model; null: not because of a limit. */
export function refusedSpawn({ limits }: SpawnContext, { refusal }: CommitRefused): string | null {
  switch (refusal) {
    case 'too_many_open':
      return (
        `this session can have at most ${limits.max_open} workers at a time: wait for some with ` +
        'wait_for_workers, or stop one'
      )
    case 'too_many_children':
      return (
        `this session tree can have at most ${limits.max_total} new workers within 24 hours: do the rest ` +
        'yourself'
      )
    case 'exists':
      return 'this call has already created its workers: list_workers shows them'
    default:
      return null
  }
}
