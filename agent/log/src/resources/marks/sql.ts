/** The statements of marks, identical for both stores, one statement each. Callers supply the time. */
import { orgNamed } from '../../engine/directory.ts'
import type { NamedSql } from '../../engine/resource.ts'

/** `$1` is the organisation, `$2` the user. */
const OF_USER = `org_key = ${orgNamed('$1')} AND user_id = $2`
const SAME_KIND = `FROM marks m WHERE m.org_key = o.org_key AND m.user_id = $2 AND m.kind = $3`

const TEXT = {
  marks: `SELECT * FROM marks WHERE ${OF_USER} AND kind = $3 ORDER BY changed_at DESC, about`,
  // The limit holds for new marks only: a mark that exists can always be changed.
  putMark: `
    INSERT INTO marks (org_key, user_id, kind, about, content, changed_at)
    SELECT o.org_key, $2, $3, $4, $5, CAST($6 AS BIGINT)
    FROM organisations o
    WHERE o.id = $1
      AND (EXISTS (SELECT 1 ${SAME_KIND} AND m.about = $4) OR (SELECT count(*) ${SAME_KIND}) < $7)
    ON CONFLICT (org_key, user_id, kind, about)
      DO UPDATE SET content = excluded.content, changed_at = excluded.changed_at
    RETURNING about`,
  removeMark: `DELETE FROM marks WHERE ${OF_USER} AND kind = $3 AND about = $4 RETURNING about`,
  pruneItemMarks: `
    DELETE FROM marks
    WHERE ${OF_USER} AND kind = 'item'
      AND NOT EXISTS (SELECT 1 FROM inbox_items i
        WHERE i.org_key = marks.org_key AND i.id = marks.about AND i.status = 'pending')`,
} as const

export type MarkStatement = keyof typeof TEXT

export const MARK_SQL: NamedSql<MarkStatement> = { prefix: 'mark', text: TEXT, reads: ['marks'] }
