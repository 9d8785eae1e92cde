/** External ids: derived from ours, so that every replica reads them. */
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId, type Principal } from '@cairn/protocol'
import { derivedId, findSession, mayAccess } from '@cairn/sessions'
import type { CompatDeps } from '../deps.ts'

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const MAX_NAME = 200

/**
 * The session that a client names as it likes. The id of a session that the caller may see is that session;
 * any other text is a name of the caller's own, from which the id is derived. So the answer is the same for
 * another person's session and for one that does not exist.
 */
export async function findNamed(
  { store }: Pick<CompatDeps, 'store'>,
  principal: Principal,
  api: string,
  name: string,
): Promise<{ id: string; session: SessionRow | null }> {
  if (name === '' || name.length > MAX_NAME)
    throw new AppError('invalid_body', `Invalid id: must have 1 to ${MAX_NAME} characters.`)
  if (UUID.test(name)) {
    const session = await store.sessions.get(name.toLowerCase())
    if (session !== null && mayAccess(principal, session)) return { id: session.id, session }
  }
  const id = derivedId('compat', principal.org_id, principal.id, api, name)
  return { id, session: await store.sessions.get(id) }
}

/** A session that the caller may see; null also for one of another person. */
export async function findVisible(
  { store }: Pick<CompatDeps, 'store'>,
  principal: Principal,
  id: string,
): Promise<SessionRow | null> {
  try {
    return await findSession(store, principal, id)
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null
    throw error
  }
}

/** `conv_` and other ids without dashes. */
export const undashed = (id: string): string => id.replaceAll('-', '')

export function dashed(hex: string): string | null {
  if (!/^[\da-f]{32}$/.test(hex)) return null
  return [8, 12, 16, 20, 32].map((to, at, ends) => hex.slice(ends[at - 1] ?? 0, to)).join('-')
}

/** The number behind a prefix, such as the event of `apr_17`; null if it is not one. */
export function numberIn(prefix: string, id: string): EventId | null {
  const digits = id.startsWith(prefix) ? id.slice(prefix.length) : ''
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : null
}
