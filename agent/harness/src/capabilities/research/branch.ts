/** research_branch: questions for workers, each in a copy of the workspace. */
import { type ResearchBranch } from '@cairn/log'
import { clip, type ResearchSettings } from '@cairn/protocol'
import { derivedId, goalMessage, openChild } from '@cairn/sessions'
import { BRANCH_TOOL, parentKeyOf, type Research } from '@cairn/state'
import { z } from 'zod'
import { noBudget, shareBudget } from '../coordination/budget.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { planOf, refusedSpawn, spawnProblem } from '../coordination/spawn.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import { activeResearch, NO_RESEARCH } from '../missions/active-research.ts'

const BranchInput = z.strictObject({
  question: z.string().trim().min(1).max(2000).describe('one question, or one change to try'),
  instructions: z.string().max(20_000).describe('where to look, what to leave out, what was found before'),
  parent_key: z.string().optional().describe('the harvested branch that this one builds on; default: none'),
})
const Parameters = z.strictObject({ branches: z.array(BranchInput).min(1).max(6) })
type BranchInput = z.output<typeof BranchInput>

export const researchBranchTool = (place: SpawnContext): Tool =>
  defineTool({
    name: BRANCH_TOOL,
    description:
      'Start research branches: each is a separate worker that investigates one question in a copy of your ' +
      'current workspace and pays for its own context. When a branch has ended, you receive its findings ' +
      'and an independent score before your next step. Findings are unverified: check them. To wait for ' +
      'branches, end your answer or call wait_for_workers.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    // Branches are created in the commit of the result, with ids derived from the call.
    idempotent: true,
    isOffered: () => activeResearch(place.claimed.log.position()) !== null,
    run: ({ branches }, { tool_call_id }) => begin(place, branches, tool_call_id),
  })

async function begin(
  place: SpawnContext,
  wishes: readonly BranchInput[],
  callId: string,
): Promise<ToolOutcome> {
  const active = activeResearch(place.claimed.log.position())
  if (active === null) return { content: { error: NO_RESEARCH } }
  const { research } = active
  const children = wishes.map(({ question }) => ({ goal: question }))
  const problem = branchProblem(research, wishes) ?? spawnProblem(place, children)
  if (problem !== null) return { content: { error: problem } }
  const budgets = shareBudget(place, wishes.length)
  if (budgets === null) return { content: { error: noBudget(place) } }
  const known = await place.runner.store.research.branches(research.run_id)
  const keys = keysFor(research, wishes)
  const opened = wishes.map((wish, index) => {
    const branch = { run_id: research.run_id, key: keys[index] ?? '' }
    const worker_id = derivedId(place.session.id, callId, index)
    const plan = planOf(place, { goal: wish.question })
    return {
      worker_id,
      ...openChild(
        place.session,
        {
          child_id: worker_id,
          root_id: place.root_id,
          depth: place.depth + 1,
          kind: 'branch',
          tool_call_id: callId,
          task_id: null,
          attempt: null,
        },
        { ...plan, isolation: 'copy', budget: budgets[index], branch },
        messageOf(research.settings, wish, known),
      ),
      branch: { ...branch, worker_id, question: wish.question },
    }
  })
  return {
    content: {
      branches: opened.map(({ branch: { key }, worker_id }) => ({ key, worker_id })),
      status: 'queued',
    },
    events: opened.map(({ event }) => event),
    linked: {
      rows: opened.flatMap(({ row, branch }) => [row, { do: 'branch.add' as const, branch }]),
      also: opened.map(({ part }) => part),
    },
    refused: refusal => {
      const error = refusedSpawn(place, refusal)
      return Promise.resolve(error === null ? null : { content: { error } })
    },
  }
}

/** Why these branches cannot be created; null: they can. */
function branchProblem(
  { branches, settings, convergence, reached }: Research,
  wishes: readonly BranchInput[],
): string | null {
  const { max_branches, max_parallel } = settings
  if (convergence.level === 'stop')
    return (
      `${convergence.count} branches in a row added nothing, so no more can start: write the report with ` +
      'research_report'
    )
  const left = max_branches - branches.length
  if (wishes.length > left)
    return `this research can have at most ${max_branches} branches, and ${left} of them are left`
  const open = branches.filter(({ ended }) => ended === null).length
  if (open + wishes.length > max_parallel)
    return (
      `at most ${max_parallel} branches can run at a time, and ${open} are running: wait for some with ` +
      'wait_for_workers'
    )
  // After a shift the next branch must start elsewhere; after that, branches may start anywhere again.
  const turns = reached?.level === 'shift' && !branches.some(each => each.spawned_at > reached.at)
  if (turns && wishes[0]?.parent_key !== undefined)
    return (
      `${convergence.count} branches in a row added nothing: the next one must start in another direction, ` +
      'without parent_key'
    )
  for (const { parent_key } of wishes) {
    if (parent_key === undefined) continue
    if (branches.find(({ key }) => key === parent_key)?.harvested !== true)
      return `no harvested branch ${JSON.stringify(clip(parent_key, 40))}${harvestedKeys(branches)}`
  }
  return null
}

const harvestedKeys = (branches: Research['branches']): string => {
  const keys = branches.filter(({ harvested }) => harvested).map(({ key }) => key)
  return keys.length === 0 ? '; omit parent_key' : `; harvested: ${keys.join(', ')}`
}

/** `1`, `2` at the root, `1.1` below the first: numbers are never reused. */
function keysFor(
  { branches }: Pick<Research, 'branches'>,
  wishes: readonly { parent_key?: string | undefined }[],
): string[] {
  const keys = branches.map(({ key }) => key)
  return wishes.map(({ parent_key = null }) => {
    const siblings = keys.filter(key => parentKeyOf(key) === parent_key)
    const last = Math.max(0, ...siblings.map(key => Number(key.split('.').at(-1))))
    const key = `${parent_key === null ? '' : `${parent_key}.`}${last + 1}`
    keys.push(key)
    return key
  })
}

/** The first message of a branch. */
function messageOf(
  { mode, metric }: ResearchSettings,
  { question, instructions, parent_key }: BranchInput,
  known: readonly ResearchBranch[],
): string {
  const parent = known.find(({ key }) => key === parent_key)
  const context = [
    instructions,
    ...(parent?.state.findings === undefined
      ? []
      : [`What branch ${parent.key} found (${parent.question}):\n${parent.state.findings}`]),
  ]
  return goalMessage(question, context.join('\n\n'), [
    mode === 'report'
      ? 'Read pages with web_fetch, and call cite for every fact that you rely on, with the exact words of ' +
        'the page: only fetched pages can be cited. In your summary, name sources by the markers that cite ' +
        'returns, for example [S3].'
      : 'Change the files here, which are a copy. This command then measures them in another copy:\n' +
        `${metric?.command}\n` +
        `A ${metric?.direction === 'min' ? 'lower' : 'higher'} number is better.`,
    'Only the first 1,500 characters of your summary are read: give your findings and the evidence for ' +
      'them, not the steps that led there.',
  ])
}
