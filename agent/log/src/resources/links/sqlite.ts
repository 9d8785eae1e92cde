/** Links and trees on the embedded store. */
import { orgOf } from '../../engine/directory.ts'
import { parseTimedCursor } from '../../engine/listing.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Db } from '../../sqlite/adapter.ts'
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
import { type StoredLink, type StoredTree, toLink, toTrees } from './link.ts'

/** The link of a child of an organisation. */
export const LINK = `SELECT * FROM links WHERE org_key = ? AND child_id = ?`

/** Increases the version of a tree. */
export function prepareMoveTree(db: Db): (orgKey: number, rootId: string) => void {
  const move = db.prepare(`
    INSERT INTO trees (org_key, root_id, version) VALUES (?, ?, 1)
    ON CONFLICT (org_key, root_id) DO UPDATE SET version = version + 1`)
  return (orgKey, rootId) => void move.run(orgKey, rootId)
}

export const linksOnSqlite: Resource<LinkChange, LinkReads>['sqlite'] = {
  changes(db) {
    const countOpen = db.prepare(`
      SELECT count(*) AS count FROM links
      WHERE org_key = ? AND parent_id = ? AND status = 'open' AND kind <> 'run'`)
    const countSince = db.prepare(`
      SELECT count(*) AS count FROM links WHERE org_key = ? AND root_id = ? AND opened_at > ?`)
    const open = db.prepare(`
      INSERT INTO links (org_key, child_id, parent_id, root_id, depth, kind, tool_call_id, task_id, attempt,
        reserved_tokens, reserved_cost_usd, status, opened_at)
      VALUES (:org_key, :child_id, :parent_id, :root_id, :depth, :kind, :tool_call_id, :task_id, :attempt,
        :reserved_tokens, :reserved_cost_usd, 'open', :at)`)
    const settle = db.prepare(`
      UPDATE links
      SET status = ?, cause = ?, input_tokens = ?, output_tokens = ?, cost_usd = ?, settled_at = ?
      WHERE org_key = ? AND child_id = ? AND status = 'open'
      RETURNING child_id`)
    const mark = db.prepare(`UPDATE links SET paused_by_parent = ? WHERE org_key = ? AND child_id = ?`)
    const version = db.prepare(`SELECT version FROM trees WHERE org_key = ? AND root_id = ?`)
    const moveTree = prepareMoveTree(db)
    return {
      'link.open'({ link, max_open, max_total }, { row, at }) {
        if (Number(countOpen.get(row.org_key, link.parent_id)?.['count']) >= max_open)
          throw linkRefusals.tooManyOpen(row, link.parent_id, max_open)
        if (Number(countSince.get(row.org_key, link.root_id, at - DAY_MS)?.['count']) >= max_total)
          throw linkRefusals.tooManyChildren(row, link.root_id, max_total)
        open.run({ reserved_tokens: 0, reserved_cost_usd: 0, ...link, org_key: row.org_key, at })
        moveTree(row.org_key, link.root_id)
      },
      'link.settle'(change, { row, at }) {
        const { child_id, root_id, status, cause, input_tokens, output_tokens, cost_usd, seen } = change
        if (hasContinued(row, seen)) throw linkRefusals.goneOn(row, child_id)
        const used = [input_tokens, output_tokens, cost_usd]
        const settled = settle.get(status, cause, ...used, at, row.org_key, child_id)
        if (settled === undefined) throw linkRefusals.settled(row, child_id)
        moveTree(row.org_key, root_id)
      },
      'link.mark'(change, { row }) {
        mark.run(change.paused_by_parent ? 1 : 0, row.org_key, change.child_id)
        moveTree(row.org_key, change.root_id)
      },
      'tree.expect'(change, { row }) {
        if (Number(version.get(row.org_key, change.root_id)?.['version'] ?? 0) !== change.version)
          throw linkRefusals.moved(row, change.root_id)
      },
    }
  },

  reads(db) {
    const link = db.prepare(`
      SELECT * FROM links WHERE org_key = ${orgOf('session', '?1')} AND child_id = ?1`)
    const children = db.prepare(`
      SELECT * FROM links
      WHERE org_key = ${orgOf('session', '?1')} AND parent_id = ?1 AND (?2 = 0 OR status = 'open')
        AND kind <> 'run'
      ORDER BY opened_at, child_id LIMIT ?3`)
    /** One statement, so that version and links are consistent. */
    const tree = db.prepare(`
      SELECT t.version, l.*
      FROM trees t
      LEFT JOIN links l ON l.org_key = t.org_key AND l.root_id = t.root_id AND l.status = 'open'
      WHERE t.org_key = ${orgOf('session', '?1')} AND t.root_id = ?1
      ORDER BY l.depth, l.opened_at, l.child_id`)
    const since = db.prepare(`
      SELECT count(*) AS count FROM links
      WHERE org_key = ${orgOf('session', '?1')} AND root_id = ?1 AND opened_at > ?2`)
    const PAGE = `(:status IS NULL OR l.status IN (SELECT value FROM json_each(:status)))
        AND (l.opened_at, l.child_id) < (:at, :child)
      ORDER BY l.opened_at DESC, l.child_id DESC LIMIT :limit`
    const belowRoot = db.prepare(`
      SELECT l.* FROM links l WHERE l.org_key = ${orgOf('session', ':id')} AND l.root_id = :id AND ${PAGE}`)
    const below = db.prepare(`
      ${descendantsSql(':id')}
      SELECT l.* FROM below b JOIN links l ON l.org_key = b.org_key AND l.child_id = b.id WHERE ${PAGE}`)
    const trees = db.prepare(`
      SELECT w.value AS id, coalesce(l.root_id, w.value) AS root_id, coalesce(l.depth, 0) AS depth,
        (SELECT count(*) FROM links c WHERE c.org_key = d.org_key AND c.parent_id = w.value
           AND c.status = 'open' AND c.kind <> 'run') AS open_children,
        (SELECT coalesce(sum(c.cost_usd), 0.0) FROM links c
         WHERE c.org_key = d.org_key AND c.parent_id = w.value) AS children_cost_usd
      FROM json_each(?) w
      LEFT JOIN directory d ON d.kind = 'session' AND d.id = w.value
      LEFT JOIN links l ON l.org_key = d.org_key AND l.child_id = w.value`)
    return {
      get(childId) {
        const row = link.get(childId) as StoredLink | undefined
        return row === undefined ? null : toLink(row)
      },
      children: (parentId, { open, limit = MAX_CHILDREN } = {}) =>
        (children.all(parentId, open === true ? 1 : 0, limit) as StoredLink[]).map(toLink),
      descendants(sessionId, { status, limit, cursor }) {
        const { at, id: child } = parseTimedCursor(cursor)
        const isRoot = link.get(sessionId) === undefined
        const rows = (isRoot ? belowRoot : below).all({
          id: sessionId,
          status: status === undefined ? null : JSON.stringify(status),
          at,
          child,
          limit: limit + 1,
        }) as StoredLink[]
        return linkPage(rows, limit)
      },
      trees: ids => toTrees(trees.all(JSON.stringify(ids)) as StoredTree[], ids),
      tree(rootId) {
        const rows = tree.all(rootId) as (StoredLink & { version: number; child_id: string | null })[]
        return {
          version: rows[0]?.version ?? 0,
          open: rows.flatMap(row => (row.child_id === null ? [] : [toLink(row)])),
        }
      },
      countSince: (rootId, from) => Number(since.get(rootId, from)?.['count']),
    }
  },
}
