/** A person's own pins and saved views of the sessions. */
import { createHash } from 'node:crypto'
import type { MarkOwner } from '@cairn/log'
import { type AnswerOf, AppError, type BodyOf, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { findSession } from './access.ts'
import type { Deps } from './deps.ts'

/** Documented with the routes. */
const MAX_PINS = 50
const MAX_VIEWS = 50

const View = z.object({
  name: z.string(),
  search: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
})
type SessionMarks = AnswerOf<'sessionMarks'>
type StoreOnly = Pick<Deps, 'store'>

const ownerOf = ({ org_id, id }: Principal): MarkOwner => ({ org_id, user_id: id })

export async function listSessionMarks({ store }: StoreOnly, principal: Principal): Promise<SessionMarks> {
  const owner = ownerOf(principal)
  const views = (await store.marks.list(owner, 'view')).map(({ about: id, content }) => ({
    id,
    ...View.parse(JSON.parse(content)),
  }))
  return {
    pins: (await store.marks.list(owner, 'pin')).map(({ about }) => about),
    views: views.toSorted((a, b) => a.name.localeCompare(b.name)),
  }
}

export async function pinSession(deps: StoreOnly, id: string, principal: Principal): Promise<SessionMarks> {
  await findSession(deps.store, principal, id)
  const pin = { kind: 'pin', about: id, content: '{}' } as const
  if (!(await deps.store.marks.put(ownerOf(principal), pin, MAX_PINS)))
    throw new AppError('limit_reached', `At most ${MAX_PINS} sessions can be pinned: unpin one.`)
  return listSessionMarks(deps, principal)
}

export async function unpinSession(deps: StoreOnly, id: string, principal: Principal): Promise<SessionMarks> {
  await findSession(deps.store, principal, id)
  await deps.store.marks.remove(ownerOf(principal), 'pin', id)
  return listSessionMarks(deps, principal)
}

/** The id follows from the name, so that saving a name again replaces its view. */
const viewId = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 16)

export async function saveView(
  deps: StoreOnly,
  { name, search }: BodyOf<'saveView'>,
  principal: Principal,
): Promise<SessionMarks> {
  const view = { kind: 'view', about: viewId(name), content: JSON.stringify({ name, search }) } as const
  if (!(await deps.store.marks.put(ownerOf(principal), view, MAX_VIEWS)))
    throw new AppError('limit_reached', `At most ${MAX_VIEWS} views can be saved: remove one.`)
  return listSessionMarks(deps, principal)
}

export async function removeView(deps: StoreOnly, id: string, principal: Principal): Promise<SessionMarks> {
  if (!(await deps.store.marks.remove(ownerOf(principal), 'view', id)))
    throw new AppError('not_found', `Saved view ${id} not found.`)
  return listSessionMarks(deps, principal)
}
