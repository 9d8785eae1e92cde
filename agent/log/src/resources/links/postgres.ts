/** Links and trees on Postgres; changes run under the locks of their sessions and trees. */
import { orgOf } from '../../engine/directory.ts'
import { parseTimedCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Database, Rows, Statement } from '../../postgres/connections.ts'
import {
  DAY_MS,
  descendantsSql,
  hasContinued,
  type LinkChange,
  linkPage,
  type LinkReads,
  linkRefusals,
  MAX_CHILDREN,
} from './row.ts'
import { type Link, type StoredLink, type StoredTree, toLink, toTrees } from './link.ts'

export const LOCK_TREES: Statement = {
  name: 'lock_trees',
  text: `
    SELECT t.root_id FROM directory d JOIN trees t ON t.org_key = d.org_key AND t.root_id = d.id
    WHERE d.kind = 'session' AND d.id = ANY($1::text[])
    ORDER BY t.org_key, t.root_id FOR UPDATE OF t`,
}
const COUNT_OPEN: Statement = {
  name: 'count_open_links',
  text: `
    SELECT count(*) AS count FROM links
    WHERE org_key = $1 AND parent_id = $2 AND status = 'open' AND kind <> 'run'`,
}
const COUNT_SINCE: Statement = {
  name: 'count_links_since',
  text: `
    SELECT count(*) AS count FROM links WHERE org_key = $1 AND root_id = $2 AND opened_at > $3`,
}
const SPAWNED_SINCE: Statement = {
  name: 'spawned_since',
  text: `
    SELECT count(*) AS count FROM links
    WHERE org_key = ${orgOf('session', '$1')} AND root_id = $1 AND opened_at > $2`,
}
const OPEN: Statement = {
  name: 'open_link',
  text: `
    INSERT INTO links (child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt,
      reserved_tokens, reserved_cost_usd, status, opened_at, org_key)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11, $12)`,
}
const SETTLE: Statement = {
  name: 'settle_link',
  text: `
    UPDATE links
    SET status = $1, cause = $2, input_tokens = $3, output_tokens = $4, cost_usd = $5, settled_at = $6
    WHERE org_key = $8 AND child_id = $7 AND status = 'open'
    RETURNING child_id`,
}
const MARK: Statement = {
  name: 'mark_link',
  text: `UPDATE links SET paused_by_parent = $1 WHERE org_key = $2 AND child_id = $3`,
}
const VERSION: Statement = {
  name: 'tree_version',
  text: `SELECT version FROM trees WHERE org_key = $1 AND root_id = $2`,
}
export const MOVE_TREE: Statement = {
  name: 'move_tree',
  text: `
    INSERT INTO trees (org_key, root_id, version) VALUES ($1, $2, 1)
    ON CONFLICT (org_key, root_id) DO UPDATE SET version = trees.version + 1`,
}
const LINKS: Statement = {
  name: 'links',
  text: `
    SELECT l.* FROM directory d JOIN links l ON l.org_key = d.org_key AND l.child_id = d.id
    WHERE d.kind = 'session' AND d.id = ANY($1::text[])`,
}
const CHILDREN: Statement = {
  name: 'links_of_parent',
  text: `
    SELECT * FROM links
    WHERE org_key = ${orgOf('session', '$1')} AND parent_id = $1 AND (NOT $2::boolean OR status = 'open')
      AND kind <> 'run'
    ORDER BY opened_at, child_id LIMIT $3`,
}
/** One statement, so that version and links are consistent. */
const TREE: Statement = {
  name: 'tree',
  text: `
    SELECT t.version, l.*
    FROM trees t
    LEFT JOIN links l ON l.org_key = t.org_key AND l.root_id = t.root_id AND l.status = 'open'
    WHERE t.org_key = ${orgOf('session', '$1')} AND t.root_id = $1
    ORDER BY l.depth, l.opened_at, l.child_id`,
}
const PAGE = `($2::text[] IS NULL OR l.status = ANY($2::text[]))
      AND (l.opened_at, l.child_id) < ($3::bigint, $4::text)
    ORDER BY l.opened_at DESC, l.child_id DESC LIMIT $5`
const BELOW_ROOT: Statement = {
  name: 'links_below_root',
  text: `
    SELECT l.* FROM links l WHERE l.org_key = ${orgOf('session', '$1')} AND l.root_id = $1 AND ${PAGE}`,
}
const BELOW: Statement = {
  name: 'links_below',
  text: `
    ${descendantsSql('$1')}
    SELECT l.* FROM below b JOIN links l ON l.org_key = b.org_key AND l.child_id = b.id WHERE ${PAGE}`,
}
const TREES: Statement = {
  name: 'trees_of_sessions',
  text: `
    SELECT w.id, coalesce(l.root_id, w.id) AS root_id, coalesce(l.depth, 0) AS depth,
      (SELECT count(*) FROM links c WHERE c.org_key = d.org_key AND c.parent_id = w.id
         AND c.status = 'open' AND c.kind <> 'run') AS open_children,
      (SELECT coalesce(sum(c.cost_usd), 0) FROM links c
       WHERE c.org_key = d.org_key AND c.parent_id = w.id) AS children_cost_usd
    FROM unnest($1::text[]) AS w (id)
    LEFT JOIN directory d ON d.kind = 'session' AND d.id = w.id
    LEFT JOIN links l ON l.org_key = d.org_key AND l.child_id = w.id`,
}

const toLinks = (rows: Rows): Link[] => rows.map(row => toLink(row as StoredLink))

/** Keyed by child id. */
export async function readLinks(db: Database, childIds: readonly string[]): Promise<Map<string, Link>> {
  if (childIds.length === 0) return new Map()
  const links = toLinks(await db.query(LINKS, [childIds], { repeatable: true }))
  return new Map(links.map(link => [link.child_id, link]))
}

export const linksOnPostgres: Resource<LinkChange, LinkReads>['postgres'] = {
  changes: {
    async 'link.open'(ask, { link, max_open, max_total }, { row, at }) {
      // First: it locks the tree, even if that has no row yet, so that no other transaction counts at the
      // same time.
      await ask(MOVE_TREE, [row.org_key, link.root_id])
      // A run has its own tree: there is nothing to count.
      if (link.kind !== 'run') {
        const [open] = await ask(COUNT_OPEN, [row.org_key, link.parent_id])
        if (Number(open?.['count']) >= max_open) throw linkRefusals.tooManyOpen(row, link.parent_id, max_open)
        const [since] = await ask(COUNT_SINCE, [row.org_key, link.root_id, at - DAY_MS])
        if (Number(since?.['count']) >= max_total)
          throw linkRefusals.tooManyChildren(row, link.root_id, max_total)
      }
      const { child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt } = link
      const { reserved_tokens = 0, reserved_cost_usd = 0 } = link
      const ties = [child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt]
      await ask(OPEN, [...ties, reserved_tokens, reserved_cost_usd, at, row.org_key])
    },
    async 'link.settle'(ask, change, { row, at }) {
      const { child_id, root_id, status, cause, input_tokens, output_tokens, cost_usd, seen } = change
      if (hasContinued(row, seen)) throw linkRefusals.goneOn(row, child_id)
      const used = [input_tokens, output_tokens, cost_usd]
      const settled = await ask(SETTLE, [status, cause, ...used, at, child_id, row.org_key])
      if (settled.length === 0) throw linkRefusals.settled(row, child_id)
      await ask(MOVE_TREE, [row.org_key, root_id])
    },
    async 'link.mark'(ask, change, { row }) {
      await ask(MARK, [change.paused_by_parent ? 1 : 0, row.org_key, change.child_id])
      await ask(MOVE_TREE, [row.org_key, change.root_id])
    },
    async 'tree.expect'(ask, change, { row }) {
      const [tree] = await ask(VERSION, [row.org_key, change.root_id])
      if (Number(tree?.['version'] ?? 0) !== change.version) throw linkRefusals.moved(row, change.root_id)
    },
  },

  store: ({ db }) => ({
    get: async childId => (await readLinks(db, [childId])).get(childId) ?? null,
    children: async (parentId, { open = false, limit = MAX_CHILDREN } = {}) =>
      toLinks(await db.query(CHILDREN, [parentId, open, limit], { repeatable: true })),
    async descendants(sessionId, { status, limit, cursor }) {
      const { at, id } = parseTimedCursor(cursor)
      const isRoot = !(await readLinks(db, [sessionId])).has(sessionId)
      const rows = await db.query(
        isRoot ? BELOW_ROOT : BELOW,
        [sessionId, status === undefined ? null : [...status], at, id, limit + 1],
        { repeatable: true },
      )
      return linkPage(rows as StoredLink[], limit)
    },
    trees: async ids =>
      toTrees((await db.query(TREES, [[...ids]], { repeatable: true })) as StoredTree[], ids),
    async tree(rootId) {
      const rows = await db.query(TREE, [rootId], { repeatable: true })
      return {
        version: Number(rows[0]?.['version'] ?? 0),
        open: toLinks(rows.filter(row => row['child_id'] !== null)),
      }
    },
    async countSince(rootId, from) {
      const [row] = await db.query(SPAWNED_SINCE, [rootId, from], { repeatable: true })
      return Number(row?.['count'])
    },
  }),
}
