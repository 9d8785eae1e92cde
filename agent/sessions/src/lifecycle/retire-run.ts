/**
 * Archives the session of a run that ended long ago, with its subtree: a schedule may last for years, and its
 * runs would grow without limit. A session that a person continued is kept until it has been idle for as
 * long.
 */
import type { Commit, RowChange, Timer } from '@cairn/log'
import { composeArchive } from './archive.ts'
import type { Deps } from '../deps.ts'
import { readTree } from '../tree/commit-tree.ts'
import { retireTimer } from '../schedules/retire-timer.ts'

export async function composeRetire(
  deps: Deps,
  { id, claim, session_id, claimed_at, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const fire: RowChange = { do: 'timer.fire', id, claim }
  const keep_s = Number(data['keep_s'])
  const { tree, expect } = await readTree(deps, session_id)
  const { status, updated_at } = tree.session
  if (status === 'archived') return { events: [], rows: [fire] }
  const isOpen = status === 'active' || status === 'paused'
  const left = isOpen ? keep_s * 1000 : updated_at + keep_s * 1000 - claimed_at
  if (left > 0) return { events: [], rows: [fire, retireTimer(session_id, keep_s, left)] }
  const { session_id: _, rows = [], ...archive } = await composeArchive(deps, tree)
  return { ...archive, rows: [fire, expect, ...rows] }
}
