/**
 * Marks: what one person set aside for themselves. A snoozed or unread inbox item, a pinned session, a saved
 * view of the sessions, a preference that is not the default. Times are epoch milliseconds.
 */
import { createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { MARK_SQL, type MarkStatement } from './sql.ts'

export type MarkKind = 'item' | 'pin' | 'view' | 'preference'
export type MarkOwner = { org_id: string; user_id: string }
export type MarkRow = {
  kind: MarkKind
  /** An inbox item, a session, the id of a view, or the name of a preference. */
  about: string
  /** JSON. */
  content: string
  changed_at: number
}

export type MarkStore = {
  /** Last changed first. */
  list(owner: MarkOwner, kind: MarkKind): Promise<MarkRow[]>
  /** Adds or replaces a mark. False: the person has `max` marks of this kind already. */
  put(owner: MarkOwner, mark: Pick<MarkRow, 'kind' | 'about' | 'content'>, max: number): Promise<boolean>
  /** False if there is none. */
  remove(owner: MarkOwner, kind: MarkKind, about: string): Promise<boolean>
  /** Deletes the marks on items that are no longer open. */
  pruneItems(owner: MarkOwner): Promise<void>
}

type Stored = Omit<MarkRow, 'changed_at'> & { changed_at: unknown }

/** Names each column: a newer schema may have more. */
const toRow = ({ kind, about, content, changed_at }: Stored): MarkRow => ({
  kind,
  about,
  content,
  changed_at: Number(changed_at),
})

function createMarkStore(ask: AskNamed<MarkStatement>, now: () => number): MarkStore {
  const { all, act, did } = createAsking(ask)
  return {
    list: async ({ org_id, user_id }, kind) => (await all<Stored>('marks', org_id, user_id, kind)).map(toRow),
    put: ({ org_id, user_id }, { kind, about, content }, max) =>
      did('putMark', org_id, user_id, kind, about, content, now(), max),
    remove: ({ org_id, user_id }, kind, about) => did('removeMark', org_id, user_id, kind, about),
    pruneItems: ({ org_id, user_id }) => act('pruneItemMarks', org_id, user_id),
  }
}

export const marks = onBothStores<never, MarkStore, MarkStatement>(MARK_SQL, {}, createMarkStore)
