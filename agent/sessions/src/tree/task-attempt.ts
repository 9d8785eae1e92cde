/** An attempt at a task: a child that gets the results of earlier tasks and of failed attempts. */
import type { SessionRow, Task } from '@cairn/log'
import { cutAt, SessionBudget } from '@cairn/protocol'
import { z } from 'zod'
import { derivedId } from '../derived-id.ts'
import { type ChildPlan, goalMessage, type OpenedChild, openChild } from './open-child.ts'

/** The stored plan for the attempts of a task. */
const TaskPlan = z.object({
  goal: z.string(),
  context: z.string().optional(),
  agent: z.string(),
  model: z.string().optional(),
  role: z.enum(['leaf', 'orchestrator']),
  tools: z.array(z.string()).optional(),
  max_iterations: z.int(),
  budget: SessionBudget.optional(),
  /** Depth of its attempts. */
  depth: z.int(),
  max_open: z.int(),
  max_total: z.int(),
  /** The call that created the task. */
  tool_call_id: z.string(),
})
export type TaskPlan = ChildPlan & z.output<typeof TaskPlan>

export const planOfTask = ({ plan }: Pick<Task, 'plan'>): TaskPlan => TaskPlan.parse(plan)

const attemptId = (taskId: string, attempt: number): string => derivedId(taskId, 'attempt', attempt)

/** The result of a task that this one depends on. */
export type PrecedingTask = Pick<Task, 'task_id' | 'goal'> & { result: string | undefined }

/** Limit for all results together; the full text is read from the worker. */
const RESULTS_CHARS = 20_000
const GOAL_CHARS = 200

export function beginAttempt(
  owner: SessionRow,
  root_id: string,
  { task_id, state, plan: kept }: Pick<Task, 'task_id' | 'state' | 'plan'>,
  attempt: number,
  before: readonly PrecedingTask[],
): OpenedChild {
  const plan = planOfTask({ plan: kept })
  return openChild(
    owner,
    {
      root_id,
      depth: plan.depth,
      child_id: attemptId(task_id, attempt),
      kind: 'task',
      tool_call_id: plan.tool_call_id,
      task_id,
      attempt,
    },
    plan,
    goalMessage(plan.goal, plan.context, [
      ...resultsBefore(before),
      ...(state.failed ?? []).map(
        ({ error, partial_result }, index) =>
          `Attempt ${index + 1} failed: ${error}` +
          `${partial_result === undefined ? '' : `\nIts last message:\n${partial_result}`}`,
      ),
      'If you cannot continue without a decision or a fact that you cannot find yourself, call ' +
        'worker_block and say what you need; you continue with the answer.',
    ]),
  )
}

const resultsBefore = (before: readonly PrecedingTask[]): string[] =>
  before.map(
    ({ goal, result = '' }) =>
      `Result of the preceding task, ${JSON.stringify(cutAt(goal, GOAL_CHARS))}:\n` +
      `${cutAt(result, Math.floor(RESULTS_CHARS / before.length))}`,
  )
