/** Adopts a worker's changes of its copy: decided per file first, then all of it or nothing. */
import { asError } from '@cairn/protocol'
import { type ChangedFile, PathProblem } from '@cairn/workspace'
import { type Decided, decideFile, putFile, type Sides } from './merge-files.ts'

export type TakeOver = {
  decided: readonly Decided[]
  conflicts: readonly Extract<Decided, { do: 'conflict' }>[]
  merges: readonly Extract<Decided, { do: 'merge' }>[]
  /** Changes that cannot be adopted by any workspace, and why. */
  leftOut: readonly { path: string; why: string }[]
}

export async function decideAll(
  sides: Sides,
  changes: readonly ChangedFile[],
  signal: AbortSignal,
): Promise<TakeOver> {
  const decided: Decided[] = []
  const leftOut: { path: string; why: string }[] = []
  for (const change of changes) {
    signal.throwIfAborted()
    try {
      decided.push(await decideFile(sides, change))
    } catch (error) {
      if (!(error instanceof PathProblem)) throw error
      leftOut.push({ path: change.path, why: asError(error).message })
    }
  }
  return {
    decided,
    conflicts: decided.filter(each => each.do === 'conflict'),
    merges: decided.filter(each => each.do === 'merge'),
    leftOut,
  }
}

/**
 * Stored before the files are written, so that after a crash a merged text can be distinguished from one
 * changed here.
 */
export async function keepMerges({ copies, childId, merged }: Sides, { merges }: TakeOver): Promise<void> {
  if (merges.length > 0)
    await copies.keepMerged(childId, {
      ...merged,
      ...Object.fromEntries(merges.map(({ path, hashes }) => [path, hashes])),
    })
}

/** Returns the paths that were written or removed. */
export async function putAll(
  workspace: string,
  { decided }: Pick<TakeOver, 'decided'>,
  onConflict: 'theirs' | 'ours',
): Promise<string[]> {
  const applied: string[] = []
  for (const each of decided) {
    if (each.do === 'same' || (each.do === 'conflict' && onConflict === 'ours')) continue
    await putFile(workspace, each.path, each.do === 'conflict' ? each.theirs : each.content)
    applied.push(each.path)
  }
  return applied
}
