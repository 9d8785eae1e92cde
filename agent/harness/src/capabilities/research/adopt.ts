/**
 * research_adopt: adopts a branch's files in the coordinator's workspace if they are better (mode metric).
 * They are first tried in a copy, so the score is that of the resulting workspace, with other branches'
 * changes included.
 */
import { type ResearchSettings } from '@cairn/protocol'
import { workspaceOf } from '@cairn/sessions'
import { type Branch, isBetterBy } from '@cairn/state'
import { sessionFolder } from '@cairn/workspace'
import { z } from 'zod'
import { agentOf } from '../../governance/agent.ts'
import type { Sides } from '../coordination/merge-files.ts'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { decideAll, keepMerges, putAll } from '../coordination/take-over.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tool.ts'
import { activeResearch, NO_RESEARCH } from '../missions/active-research.ts'
import { measure, type Measured, type Measuring } from './measure.ts'

export const ADOPT_TOOL = 'research_adopt'
const MAX_LISTED = 200
/** Time for the copies, in addition to the two runs of the command. */
const COPYING_MS = 120_000

const Parameters = z.strictObject({ key: z.string().min(1).max(40).describe('key of a harvested branch') })

export const researchAdoptTool = (place: SpawnContext): Tool =>
  defineTool({
    name: ADOPT_TOOL,
    description:
      'Apply the changes of a branch if they improve your files: the command of the metric runs on copies ' +
      'of your files without and with the changes. Later branches start from the result. You may repeat ' +
      'the call.',
    parameters: Parameters,
    readOnly: false,
    idempotent: true,
    mutatesFiles: true,
    isOffered: () => findMetric(place) !== null,
    timeoutMs: () => 2 * (findMetric(place)?.metric.timeout_s ?? 0) * 1000 + COPYING_MS,
    async changes({ key }) {
      const found = findBranch(place, key)
      const changes = 'error' in found ? null : await place.runner.copies.changes(found.branch.worker_id)
      return (changes ?? []).map(({ path }) => path)
    },
    run: ({ key }, context) => adopt(place, key, context),
  })

type Metric = Pick<ResearchSettings, 'min_delta'> & { metric: NonNullable<ResearchSettings['metric']> }

function findMetric(place: SpawnContext): (Metric & { branches: readonly Branch[]; run_id: string }) | null {
  const active = activeResearch(place.claimed.log.position())
  const metric = active?.research.settings.metric
  if (active === null || metric === undefined) return null
  const { run_id, settings, branches } = active.research
  return { run_id, metric, branches, min_delta: settings.min_delta }
}

function findBranch(place: SpawnContext, key: string): { branch: Branch } | { error: string } {
  const found = findMetric(place)
  if (found === null) return { error: `${NO_RESEARCH} in mode metric` }
  const ready = found.branches.filter(({ harvested }) => harvested)
  const branch = ready.find(each => each.key === key)
  return branch === undefined
    ? { error: `no harvested branch ${JSON.stringify(key)}; harvested: ${keysOf(ready)}` }
    : { branch }
}
const keysOf = (branches: readonly Branch[]): string => branches.map(({ key }) => key).join(', ') || 'none'

async function adopt(
  place: SpawnContext,
  key: string,
  { workspace, signal }: ToolContext,
): Promise<ToolOutcome> {
  const found = findBranch(place, key)
  const about = findMetric(place)
  if ('error' in found || about === null)
    return { content: { error: 'error' in found ? found.error : NO_RESEARCH } }
  const { runner, session } = place
  const { copies } = runner
  const childId = found.branch.worker_id
  const changes = await copies.changes(childId)
  if (changes === null) return { content: { error: `branch ${key} never started, so it changed nothing` } }
  const sides: Sides = {
    workspace,
    childId,
    copies,
    merged: await copies.merged(childId),
    copy: sessionFolder(runner.workspacesDir, childId),
  }
  const takeOver = await decideAll(sides, changes, signal)
  const { conflicts, decided, leftOut } = takeOver
  if (conflicts.length > 0)
    return {
      content: {
        error: `you and branch ${key} both changed files that cannot be merged; nothing was applied`,
        conflicts: conflicts.slice(0, MAX_LISTED).map(({ path, why }) => ({ path, why })),
        right: 'start a branch that makes the change in your current files',
      },
    }
  if (decided.every(each => each.do === 'same'))
    return { content: { adopted: false, key, reason: 'your files already contain all its changes' } }
  const measuring: Measuring = {
    runner,
    agent: agentOf(runner.config, session),
    session_id: session.id,
    metric: about.metric,
    signal,
  }
  await using scratch = await copies.scratch(workspaceOf(session), signal)
  const before = await measure(measuring, scratch.path)
  const after = await measureWith(measuring, place, takeOver)
  const told = { key, score_before: before.score, score_after: after.score }
  if (!isImproved(before, after, about))
    return { content: { adopted: false, ...told, reason: whyNot(before, after, about) } }
  await keepMerges(sides, takeOver)
  const applied = await putAll(workspace, takeOver, 'theirs')
  const adopted_at = new Date(runner.clock.now()).toISOString()
  return {
    content: {
      adopted: true,
      ...told,
      applied: applied.slice(0, MAX_LISTED),
      ...(leftOut.length === 0 ? {} : { left_out: leftOut.slice(0, MAX_LISTED) }),
    },
    linked: { rows: [{ do: 'branch.mark', run_id: about.run_id, key, state: { adopted_at } }] },
  }
}

/** A separate copy, because the first run may have left files behind. */
async function measureWith(
  measuring: Measuring,
  { runner, session }: SpawnContext,
  takeOver: Awaited<ReturnType<typeof decideAll>>,
): Promise<Measured> {
  await using scratch = await runner.copies.scratch(workspaceOf(session), measuring.signal)
  await putAll(scratch.path, takeOver, 'theirs')
  // Await here: the copy must outlive the command.
  return await measure(measuring, scratch.path)
}

const isImproved = (before: Measured, after: Measured, { metric, min_delta }: Metric): boolean =>
  after.score !== null &&
  (before.score === null || isBetterBy(after.score, before.score, metric.direction, min_delta))

function whyNot(before: Measured, after: Measured, { metric, min_delta }: Metric): string {
  if (after.score === null) return `no score with its changes: ${after.why}`
  const better = metric.direction === 'min' ? 'smaller' : 'greater'
  const by = min_delta === 0 ? '' : ` by more than ${min_delta}`
  return `${after.score} is not ${better} than ${before.score}${by}: nothing was changed`
}
