/** Checks inbox items: each names an event of its session. */
import type { Resource } from '../../engine/resource.ts'
import type { StoredItem } from './stored-item.ts'

const STRAY = `
  SELECT i.id, i.source_event_id FROM inbox_items i JOIN sessions s ON s.org_key = i.org_key AND s.key = i.session_key
  WHERE i.source_event_id NOT BETWEEN 1 AND s.last_id`

export const inboxCheck: NonNullable<Resource<never, object>['check']> = {
  rows: { stray: STRAY },
  create: () => ({
    problems: ({ stray = [] }) =>
      (stray as StoredItem[]).map(
        ({ id, source_event_id }) =>
          `inbox item ${id} names event ${source_event_id}, which its session does not have`,
      ),
  }),
}
