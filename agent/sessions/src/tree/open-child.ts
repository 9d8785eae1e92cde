/** Creates a child: its session with a first message, its link, and the events in its parent's log. */
import type { LinkedCommit, NewLink, RowChange, SessionRow } from '@cairn/log'
import { cutAt, type EventDraft, type SessionBudget, type WorkerKind } from '@cairn/protocol'
import { workerSpawned } from '../events/coordination.ts'
import { type ChildConfig, childConfig, workspaceOf } from '../create.ts'
import { syntheticMessage } from '../events/messages.ts'

/**
 * The specification of a child, fixed when it was requested. Stored as JSON for children that start later.
 */
export type ChildPlan = {
  goal: string
  agent: string
  model?: string | undefined
  role: 'leaf' | 'orchestrator'
  tools?: string[] | undefined
  /** Whether it uses its parent's workspace or a copy; the default is to share. */
  isolation?: 'share' | 'copy' | undefined
  max_iterations: number
  /** For the child and its subtree; absent if only the limits of the tree apply. */
  budget?: SessionBudget | undefined
  /** The research branch, if it is one. */
  branch?: ChildConfig['branch']
  /** Limits of the parent, and of its tree. */
  max_open: number
  max_total: number
}
export type OpenedChild = { event: EventDraft; row: RowChange; part: LinkedCommit }

const TITLE_CHARS = 80

/** `message` is the first that the child reads. */
export function openChild(
  parent: SessionRow,
  link: Omit<NewLink, 'parent_id' | 'kind'> & { kind: WorkerKind },
  plan: ChildPlan,
  message: string,
): OpenedChild {
  const { child_id, depth, kind, tool_call_id, task_id, attempt } = link
  const { goal, agent, model, budget, branch, max_open, max_total } = plan
  return {
    event: workerSpawned({
      worker_id: child_id,
      goal,
      kind,
      agent,
      depth,
      ...(tool_call_id === null ? {} : { tool_call_id }),
      ...(task_id === null ? {} : { task_id }),
      ...(attempt === null ? {} : { attempt }),
      ...(model === undefined ? {} : { model }),
      ...(budget === undefined ? {} : { budget }),
      ...(plan.isolation === undefined ? {} : { isolation: plan.isolation }),
      ...(branch === undefined ? {} : { mission_id: branch.run_id, branch_key: branch.key }),
    }),
    row: {
      do: 'link.open',
      link: { ...link, parent_id: parent.id, ...reservation(budget) },
      max_open,
      max_total,
    },
    part: {
      session_id: child_id,
      create: sessionOf(parent, child_id, plan),
      events: [syntheticMessage('worker_goal', message)],
    },
  }
}

const reservation = (
  budget: SessionBudget | undefined,
): Pick<NewLink, 'reserved_tokens' | 'reserved_cost_usd'> => ({
  ...(budget?.max_tokens === undefined ? {} : { reserved_tokens: budget.max_tokens }),
  ...(budget?.max_cost_usd === undefined ? {} : { reserved_cost_usd: budget.max_cost_usd }),
})

function sessionOf(parent: SessionRow, id: string, plan: ChildPlan): NonNullable<LinkedCommit['create']> {
  const { org_id, created_by, created_by_kind } = parent
  const { goal, agent, model, role, tools, max_iterations, budget } = plan
  return {
    org_id,
    created_by,
    created_by_kind,
    agent,
    channel: 'worker',
    title: cutAt(goal.replaceAll(/\s+/g, ' '), TITLE_CHARS),
    parent_id: parent.id,
    config: {
      ...(model === undefined ? {} : { model }),
      max_iterations,
      ...(budget === undefined ? {} : { budget }),
      child: {
        role,
        ancestors: [...(childConfig(parent)?.ancestors ?? []), parent.agent],
        ...(plan.isolation === 'copy'
          ? { workspace: id, copied_from: workspaceOf(parent) }
          : { workspace: workspaceOf(parent) }),
        ...(tools === undefined ? {} : { tools }),
        ...(plan.branch === undefined ? {} : { branch: plan.branch }),
      },
    },
    ...(model === undefined ? {} : { model }),
  }
}

/** The first message of a child; `more` is placed between its context and the instructions for completion. */
export const goalMessage = (
  goal: string,
  context: string | undefined,
  more: readonly string[] = [],
): string =>
  [
    'You work for another agent. It gave you this goal and sees only your result.',
    `Goal:\n${goal}`,
    ...(context === undefined || context.trim() === '' ? [] : [`What you should know:\n${context}`]),
    ...more,
    'When you are done, call worker_complete once, with a summary that contains everything the ' +
      'other agent needs: what you found, what you created and where it is. ' +
      'If you cannot reach the goal, say so there, and why.',
  ].join('\n\n')
