/** apply_worker_files: adopts what a worker changed in its copy of the workspace, all of it or nothing. */
import { childConfig, workspaceOf } from '@cairn/sessions'
import { type ChangedFile, sessionFolder } from '@cairn/workspace'
import { z } from 'zod'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'
import type { Sides } from './merge-files.ts'
import { ownWorker } from './owned.ts'
import type { SpawnContext } from './spawn-context.ts'
import { decideAll, keepMerges, putAll } from './take-over.ts'

const MAX_LISTED = 200

const Parameters = z.strictObject({
  worker_id: z.string(),
  paths: z
    .array(z.string().min(1))
    .max(1000)
    .optional()
    .describe('only these files and folders; default: everything that it changed'),
  on_conflict: z
    .enum(['fail', 'theirs', 'ours'])
    .default('fail')
    .describe(
      'what to do if both changed a file and the changes cannot be merged. fail: apply nothing and list ' +
        "the conflicts; theirs: use the worker's file; ours: keep your file",
    ),
})
type Args = z.output<typeof Parameters>

export const applyWorkerFilesTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'apply_worker_files',
    description:
      'Apply the changes that a worker made in its copy of your workspace: files that only the worker ' +
      'changed are copied, files that it removed are removed, and text files that both of you changed are ' +
      'merged. A conflict changes nothing unless on_conflict says what to do. You may repeat the call. The ' +
      'changes are unverified: review them.',
    parameters: Parameters,
    readOnly: false,
    idempotent: true,
    mutatesFiles: true,
    // The call itself reports what cannot be determined now, and then changes nothing.
    async changes(args) {
      const found = await changesOf(place, args)
      return 'error' in found ? [] : found.changes.map(({ path }) => path)
    },
    run: (args, { workspace, signal }) => apply(place, workspace, args, signal),
  })

async function changesOf(
  place: SpawnContext,
  { worker_id, paths }: Args,
): Promise<{ changes: ChangedFile[]; childId: string } | { error: string }> {
  const own = await ownWorker(place, worker_id)
  if ('error' in own) return own
  if (own.link.status === 'open')
    return { error: `worker ${worker_id} is still running: wait for it with wait_for_workers` }
  const child = await place.runner.store.sessions.get(worker_id)
  const copied = child === null ? undefined : childConfig(child)?.copied_from
  if (copied !== workspaceOf(place.session))
    return { error: `worker ${worker_id} worked in your own workspace: its files are already there` }
  const changes = await place.runner.copies.changes(worker_id)
  if (changes === null) return { error: `worker ${worker_id} never started, so it changed nothing` }
  const isWanted = (path: string): boolean =>
    paths === undefined || paths.map(trimmed).some(wanted => path === wanted || path.startsWith(`${wanted}/`))
  return { changes: changes.filter(({ path }) => isWanted(path)), childId: worker_id }
}

/** Normalizes `./a/` to `a`. */
const trimmed = (path: string): string => path.replace(/^(\.\/+)+/, '').replace(/\/+$/, '')

async function apply(
  place: SpawnContext,
  workspace: string,
  args: Args,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const found = await changesOf(place, args)
  if ('error' in found) return { content: { error: found.error } }
  const { copies, workspacesDir } = place.runner
  const { changes, childId } = found
  const merged = await copies.merged(childId)
  const sides: Sides = { workspace, childId, copies, merged, copy: sessionFolder(workspacesDir, childId) }
  const takeOver = await decideAll(sides, changes, signal)
  const { conflicts, merges, leftOut, decided } = takeOver
  const named = conflicts.map(({ path, why }) => ({ path, why }))
  if (conflicts.length > 0 && args.on_conflict === 'fail')
    return {
      content: {
        error: 'you and the worker both changed files that cannot be merged; nothing was applied',
        conflicts: named.slice(0, MAX_LISTED),
        applied: [],
      },
    }
  await keepMerges(sides, takeOver)
  const applied = await putAll(workspace, takeOver, args.on_conflict === 'ours' ? 'ours' : 'theirs')
  return {
    content: {
      applied: applied.slice(0, MAX_LISTED),
      ...(applied.length > MAX_LISTED ? { applied_count: applied.length } : {}),
      merged: merges.map(({ path }) => path),
      unchanged: decided.filter(each => each.do === 'same').length,
      ...(conflicts.length === 0 ? {} : { conflicts: named.slice(0, MAX_LISTED), decided: args.on_conflict }),
      ...(leftOut.length === 0 ? {} : { left_out: leftOut.slice(0, MAX_LISTED) }),
    },
  }
}
