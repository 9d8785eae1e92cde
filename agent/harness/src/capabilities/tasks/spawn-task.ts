/** spawn_task: work with dependencies. It starts when the tasks before it are done, and is retried. */
import { isTaskOver, type Task } from '@cairn/log'
import { beginAttempt, derivedId, type TaskPlan } from '@cairn/sessions'
import { DEFAULT_ATTEMPTS, SPAWN_TASK_TOOL } from '@cairn/state'
import { cutAt } from '@cairn/protocol'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { shareBudget } from '../coordination/budget.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import {
  ChildParameters,
  type SpawnInput,
  goalKey,
  planOf,
  refusedSpawn,
  spawnProblem,
} from '../coordination/spawn.ts'
import { describeAgents } from '../coordination/spawn-worker.ts'

const MAX_ATTEMPTS = 5
const MAX_DEPENDENCIES = 16

/** Without `isolation`: the worker of a task works in its owner's workspace. */
const { isolation: _, ...ofAnyChild } = ChildParameters
const Parameters = z.strictObject({
  ...ofAnyChild,
  after: z
    .array(z.string())
    .max(MAX_DEPENDENCIES)
    .optional()
    .describe('ids of tasks from spawn_task that must be done first; this task receives their results'),
  max_attempts: z.int().min(1).max(MAX_ATTEMPTS).optional().describe(`default: ${DEFAULT_ATTEMPTS}`),
})
type Args = z.output<typeof Parameters>

export const spawnTaskTool = (place: SpawnContext): Tool =>
  defineTool({
    name: SPAWN_TASK_TOOL,
    description:
      'Give a piece of work to a worker as a task. Unlike spawn_worker, it can wait for other tasks ' +
      '(after), whose results its worker receives, and failed attempts are retried. You are notified of ' +
      'its result, of its final failure, and when its worker needs an answer from you. Each attempt is a ' +
      'separate session and pays for its own context. Results are unverified: check what ' +
      `matters.${describeAgents(place)}`,
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    // The task is created in the commit of the result, with an id derived from the call.
    idempotent: true,
    run: (args, { tool_call_id }) => spawnTask(place, tool_call_id, args),
  })

/** Rebuilds and retries the commit while the tasks change. */
async function spawnTask(place: SpawnContext, toolCallId: string, args: Args): Promise<ToolOutcome> {
  const { store } = place.runner
  const { version } = await store.links.tree(place.root_id)
  const tasks = await store.tasks.list(place.session.id)
  const after = [...new Set(args.after ?? [])]
  const problem = spawnProblem(place, [args]) ?? taskProblem(place, args, tasks, after)
  if (problem !== null) return { content: { error: problem } }
  const task_id = derivedId(place.session.id, toolCallId, 'task')
  const before = after.map(id => tasks.find(task => task.task_id === id)).filter(task => task !== undefined)
  const plan: TaskPlan = {
    ...planOf(place, args),
    budget: shareBudget(place, 1)?.[0],
    context: args.context,
    depth: place.depth + 1,
    tool_call_id: toolCallId,
  }
  const isReady = before.every(({ status }) => status === 'done')
  const child = isReady
    ? beginAttempt(place.session, place.root_id, { task_id, plan, state: {} }, 1, before.map(resultOf))
    : null
  const worker_id = child?.part.session_id
  return {
    content: {
      task_id,
      status: isReady ? 'running' : 'todo',
      ...(worker_id === undefined ? {} : { worker_id }),
    },
    events: child === null ? [] : [child.event],
    linked: {
      rows: [
        { do: 'tree.expect', root_id: place.root_id, version },
        {
          do: 'task.add',
          task: {
            task_id,
            owner_id: place.session.id,
            root_id: place.root_id,
            goal: args.goal,
            plan,
            after,
            max_attempts: args.max_attempts ?? DEFAULT_ATTEMPTS,
            status: isReady ? 'running' : 'todo',
            attempt_count: isReady ? 1 : 0,
            state: worker_id === undefined ? {} : { worker_id },
          },
        },
        ...(child === null ? [] : [child.row]),
      ],
      also: child === null ? [] : [child.part],
    },
    refused(refusal) {
      if (refusal.refusal === 'tree_moved') return spawnTask(place, toolCallId, args)
      const error = refusedSpawn(place, refusal)
      return Promise.resolve(error === null ? null : { content: { error } })
    },
  }
}

const resultOf = ({ task_id, goal, state }: Task) => ({ task_id, goal, result: state.result })

function taskProblem(
  place: SpawnContext,
  input: SpawnInput,
  tasks: readonly Task[],
  after: readonly string[],
): string | null {
  for (const id of after) {
    const before = tasks.find(task => task.task_id === id)
    if (before === undefined)
      return (
        `unknown task ${JSON.stringify(cutAt(id, 100))} in after; list_tasks shows the tasks of this ` +
        'session. Only existing tasks can be named, so tasks cannot wait for each other in a cycle'
      )
    if (before.status === 'failed' || before.status === 'cancelled')
      return `task ${id} is ${before.status}, so a task after it would never start`
  }
  const open = tasks.filter(task => !isTaskOver(task))
  if (open.length >= place.limits.max_total)
    return (
      `this session already has ${open.length} open tasks, the maximum: wait for some with ` +
      'wait_for_workers, or cancel one'
    )
  // Running tasks have open workers, whose goals were compared before.
  const same = open.find(
    task => task.status === 'todo' && goalKey(place, planInput(task)) === goalKey(place, input),
  )
  return same === undefined ? null : `task ${same.task_id} already has this goal and has not started`
}

const planInput = ({ goal, plan }: Task): { goal: string; agent?: string } => ({
  goal,
  ...(typeof plan['agent'] === 'string' ? { agent: plan['agent'] } : {}),
})
