/**
 * Links and trees: relations between child sessions and their parents.
 *
 *   link   a child and its parent, open until its outcome is written: once, in the commit that ends the child
 *   tree   a root and its descendants; its version increases with every spawn, outcome and pause
 *
 * The rows change in the commits of sessions (commit.ts), so a link always agrees with its events.
 */
import { orgOf } from '../../engine/directory.ts'
import { timedPage } from '../../engine/listing.ts'
import { Refusing } from '../../engine/refusing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { StoredSession } from '../../engine/session-rows.ts'
import {
  type Link,
  type LinkOutcome,
  type NewLink,
  type SeenLog,
  type SessionTree,
  type StoredLink,
  toLink,
} from './link.ts'

export type LinkChange =
  /**
   * Guards and change: rejected with `too_many_open` if the parent has `max_open` open children, with
   * `too_many_children` if the tree got `max_total` children within 24 hours.
   */
  | { do: 'link.open'; link: NewLink; max_open: number; max_total: number }
  /**
   * Guard and change: rejected with `already_settled` unless the link is open, and with `tree_moved` unless
   * the child's log is unchanged since its outcome was composed.
   */
  | ({ do: 'link.settle'; seen?: SeenLog } & LinkOutcome)
  /** Changes the tree's version: a resume that was composed before would miss the child. */
  | { do: 'link.mark'; child_id: string; root_id: string; paused_by_parent: boolean }
  /** Guard: rejected with `tree_moved` unless the tree has this version; 0 for a tree without links. */
  | { do: 'tree.expect'; root_id: string; version: number }

export const DAY_MS = 24 * 3600 * 1000
/** Maximum number of children that one call returns. */
export const MAX_CHILDREN = 1000

export type DescendantQuery = { status?: readonly Link['status'][]; limit: number; cursor?: string }

export interface LinkReads {
  /** The link of a child; null for a root. */
  get(childId: string): Promise<Link | null>
  /** Children of one parent, oldest first, at most `limit`; without scheduled runs. */
  children(parentId: string, query?: { open?: true; limit?: number }): Promise<Link[]>
  /** All descendants of a session, newest first; `cursor` continues a listing. */
  descendants(
    sessionId: string,
    query: DescendantQuery,
  ): Promise<{ links: Link[]; next_cursor: string | null }>
  /** In the order of the ids; a session without links is its own root. */
  trees(sessionIds: readonly string[]): Promise<SessionTree[]>
  /** The open links of a tree and its version, read consistently. */
  tree(rootId: string): Promise<{ version: number; open: Link[] }>
  /** Counts children added to a tree since then (epoch milliseconds). */
  countSince(rootId: string, since: number): Promise<number>
}

/** `rows` has one more than the limit if there is a next page. */
export function linkPage(
  rows: readonly StoredLink[],
  limit: number,
): { links: Link[]; next_cursor: string | null } {
  const { found, next_cursor } = timedPage(
    rows,
    limit,
    row => ({ at: row.opened_at, id: row.child_id }),
    toLink,
  )
  return { links: found, next_cursor }
}

/** The ids of a session's descendants, as a table `below`; the syntax works on both stores. */
export const descendantsSql = (id: string): string => `
  WITH RECURSIVE below(org_key, id) AS (
    SELECT org_key, child_id FROM links WHERE org_key = ${orgOf('session', id)} AND parent_id = ${id}
    UNION
    SELECT l.org_key, l.child_id FROM links l JOIN below b ON l.org_key = b.org_key AND l.parent_id = b.id
  )`

export const linkChanges: Resource<LinkChange, LinkReads>['changes'] = {
  'link.open': { trees: ({ link }) => [link.root_id] },
  'link.settle': { trees: ({ root_id }) => [root_id] },
  'link.mark': { trees: ({ root_id }) => [root_id] },
  'tree.expect': { trees: ({ root_id }) => [root_id] },
}

/** Refusals of changes to links, worded alike for all stores. */
export const linkRefusals = {
  tooManyOpen: (row: StoredSession, parent: string, most: number) =>
    new Refusing('too_many_open', `[commit] session ${parent} has ${most} open children, the maximum`, row),
  tooManyChildren: (row: StoredSession, root: string, most: number) =>
    new Refusing(
      'too_many_children',
      `[commit] the tree of ${root} got ${most} children within a day, the maximum`,
      row,
    ),
  settled: (row: StoredSession, child: string) =>
    new Refusing('already_settled', `[commit] the link of child ${child} is not open`, row),
  moved: (row: StoredSession, root: string) =>
    new Refusing('tree_moved', `[commit] the tree of ${root} has changed since it was read`, row),
  goneOn: (row: StoredSession, child: string) =>
    new Refusing('tree_moved', `[commit] child ${child} has changed since its outcome was composed`, row),
}

/** True if the child's session has written since its outcome was composed. */
export const hasContinued = (row: StoredSession, seen: SeenLog | undefined): boolean =>
  seen !== undefined &&
  (row.input_tokens !== seen.input_tokens ||
    row.output_tokens !== seen.output_tokens ||
    row.tool_call_count !== seen.tool_call_count)
