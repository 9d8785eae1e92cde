/**
 * delegate_task: workers whose results are the result of the call. Until then the turn rests, up to a
 * timeout.
 */
import { delegationStart, delegationTimer, staleTimer } from '@cairn/sessions'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import type { SpawnContext } from './spawn-context.ts'
import { ChildParameters, type SpawnInput, composeSpawn, refusedSpawn, spawnProblem } from './spawn.ts'
import { describeAgents } from './spawn-worker.ts'

const MAX_GOALS = 8
const { goal, context, agent, model, role, isolation } = ChildParameters

const Parameters = z.strictObject({
  goal: goal.optional(),
  goals: z
    .array(z.strictObject({ goal, context, agent, model, role }))
    .min(1)
    .max(MAX_GOALS)
    .optional()
    .describe('instead of goal: several goals, worked on in parallel'),
  context: context.describe('what all workers must know'),
  isolation,
  timeout_s: z.int().min(1).max(3600).default(900).describe('workers that are not done by then are stopped'),
})

export const delegateTaskTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'delegate_task',
    description: [
      `Give one goal, or up to ${MAX_GOALS} at once, to workers.`,
      'The call returns their results.',
      'Use it when you cannot continue without them; otherwise use spawn_worker.',
      'Each worker pays for its own context. Results are unverified: check what matters.',
      describeAgents(place),
    ].join(' '),
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    // The workers are created in one commit, with ids derived from the call.
    idempotent: true,
    run: (args, { tool_call_id }) => Promise.resolve(delegate(place, tool_call_id, args)),
  })

type Args = {
  goal?: string | undefined
  goals?: readonly Pick<SpawnInput, 'goal' | 'context' | 'agent' | 'model' | 'role'>[] | undefined
  context?: string | undefined
  isolation?: 'share' | 'copy' | undefined
  timeout_s: number
}

function delegate(place: SpawnContext, toolCallId: string, args: Args): ToolOutcome {
  if ((args.goal === undefined) === (args.goals === undefined))
    return { content: { error: 'give either goal or goals' } }
  const inputs: SpawnInput[] = (args.goals ?? [{ goal: args.goal ?? '' }]).map(input => ({
    ...input,
    context: [args.context, input.context].filter(text => text !== undefined).join('\n\n'),
  }))
  const problem = spawnProblem(place, inputs)
  if (problem !== null) return { content: { error: problem } }
  const { ids, events, rows, also } = composeSpawn(
    place,
    toolCallId,
    'delegation',
    inputs,
    args.isolation ?? (inputs.length === 1 ? 'share' : 'copy'),
  )
  const starts = inputs.map((input, at) =>
    delegationStart({
      child_session_id: ids[at] ?? '',
      tool_call_id: toolCallId,
      timeout_seconds: args.timeout_s,
      goal: input.goal,
      role: input.role ?? 'leaf',
      depth: place.depth + 1,
      agent_type: input.agent ?? null,
      model: input.model ?? null,
    }),
  )
  return {
    content: '',
    events: [...events, ...starts],
    linked: {
      rows: [
        ...rows,
        delegationTimer(place.session.id, toolCallId, args.timeout_s * 1000),
        ...ids.map(id => staleTimer(place.session.id, id, toolCallId, staleAfter(place))),
      ],
      also,
    },
    suspend: 'children',
    refused: refusal => {
      const error = refusedSpawn(place, refusal)
      return Promise.resolve(error === null ? null : { content: { error } })
    },
  }
}

const staleAfter = ({ runner }: SpawnContext): { idle_s: number; tool_s: number } => {
  const { delegation_stale_s, delegation_stale_tool_s } = runner.config.limits
  return { idle_s: delegation_stale_s, tool_s: delegation_stale_tool_s }
}
