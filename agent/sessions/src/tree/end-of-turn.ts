/**
 * Ends a child at its own request. Its runner commits every such end through this module, so that no path can
 * omit the outcome.
 */
import { type Commit, type Committed, CommitRefused, type Link, type SessionRow } from '@cairn/log'
import type { EventData, EventDraft } from '@cairn/protocol'
import { descendantIds, isBusy, isMoved, readTree, revokeLeases } from './commit-tree.ts'
import type { ChildEnding } from './child-outcome.ts'
import { addUsage, reportOf } from './child-report.ts'
import { endChild, endDescendants, expireAll, notifyParent } from './end-tree.ts'
import type { Deps } from '../deps.ts'
import { ENDED } from '../refusals.ts'

const TRIES = 10

/** True if a commit of these events ends a child. */
export const endsChild = (events: readonly EventDraft[]): boolean => endingOf(events) !== null

const REASONS = {
  budget_exhausted: { cause: 'budget', error: 'The worker reached its iteration limit or its budget.' },
  tool_loop: { cause: 'tool_loop', error: 'The worker kept repeating the same call.' },
  stopped: { cause: 'cancelled', error: 'The worker was stopped.' },
} as const

function endingOf(events: readonly EventDraft[]): ChildEnding | null {
  for (const { type, data } of events) {
    if (type === 'session.fail')
      return { as: 'failed', cause: 'error', error: (data as EventData<'session.fail'>).error }
    if (type === 'session.complete') {
      const { reason } = data as EventData<'session.complete'>
      return reason === 'completed' ? { as: 'completed' } : { as: 'failed', ...REASONS[reason] }
    }
  }
  return null
}

/** Commits the end of a child: reports its outcome to the parent, and ends its open descendants. */
export async function commitEnd(
  deps: Deps,
  session: SessionRow,
  link: Link,
  commit: Commit,
  /** Files that it wrote, if known better than from its tool calls. */
  written: readonly string[] | null = null,
): Promise<Committed> {
  const ending = endingOf(commit.events)
  if (ending === null) throw new Error('[commitEnd] the commit has no session end event')
  for (let tries = 1; ; tries++) {
    const { tree, expect } = await readTree(deps, session.id)
    const [{ events, parts, rows, used }, report] = await Promise.all([
      endDescendants(deps, tree, 'ended'),
      reportOf(deps.store, tree.session, link, deps.now()),
    ])
    addUsage(report, used)
    const child = await endChild(deps, { session: tree.session, link, report, ending }, { written })
    const decides = parts.length > 0 || rows.length > 0 || child.decides
    try {
      return await deps.store.commit({
        ...commit,
        events: [...events, ...commit.events],
        rows: [
          ...(decides ? [expect] : []),
          ...(commit.rows ?? []),
          ...rows,
          ...child.rows,
          // Decisions come too late from now on: the outcome has been reported.
          expireAll(ENDED),
        ],
        also: [...parts, notifyParent(child), ...child.more],
      })
    } catch (error) {
      if (!(error instanceof CommitRefused) || !isMoved(error, tree) || tries >= TRIES) throw error
      if (isBusy(error, tree, tries)) await revokeLeases(deps, descendantIds(tree))
    }
  }
}
