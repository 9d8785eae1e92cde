/**
 * Share links: read-only access to one session for anyone with the link (contract 4.18). Disabled unless the
 * configuration sets their lifetime. The token is in the fragment of the page's URL and in the request body,
 * so no log of a server or proxy contains it; the store has its hash.
 */
import { createRedactor, type SessionRow, type ShareRow } from '@cairn/log'
import { AppError, decodeEvent } from '@cairn/protocol'
import { newSecret, sha256 } from '../auth/secrets.ts'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import { sharedEvent } from './shared-event.ts'

/** Makes the token recognisable wherever it leaks (log/src/engine/redact/secret-prefixes.ts). */
const PREFIX = 'cairn_sl_'
const DAY_MS = 24 * 60 * 60 * 1000
const PAGE = 500
/** Redacts again: a rule may be newer than the stored event. Exports do the same. */
const redact = createRedactor([])

const iso = (at: number): string => new Date(at).toISOString()
const shown = ({ id, created_by, created_at, expires_at, revoked_at }: ShareRow) => ({
  id,
  created_by,
  created_at: iso(created_at),
  expires_at: iso(expires_at),
  revoked_at: revoked_at === null ? null : iso(revoked_at),
})

export const createShare: Handler<'createShare'> = async ({ services, principal, params }) => {
  const { store, config, now, newId } = services
  const session = await services.guard.load(principal, params.id)
  if (config.auth.share_days === 0)
    throw new AppError('forbidden', 'Sharing is off on this server: auth.share_days is 0.')
  const token = PREFIX + newSecret()
  const made = await store.accounts.addShare({
    id: newId(),
    token_sha256: sha256(token),
    session_id: session.id,
    created_by: principal.id,
    expires_at: now() + config.auth.share_days * DAY_MS,
  })
  return { ...shown(made), token }
}

export const listShares: Handler<'listShares'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  return { shares: (await services.store.accounts.listShares(params.id)).map(shown) }
}

export const revokeShare: Handler<'revokeShare'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const { store, now } = services
  if (!(await store.accounts.revokeShare(params.id, params.share_id, now())))
    throw new AppError('not_found', 'Share link not found in this session.')
  return undefined
}

/**
 * One answer for links that never existed, have expired, or lead to a deleted session, so that it reveals
 * nothing.
 */
async function findShared({ store, config, now }: Services, token: string): Promise<SessionRow> {
  const gone = new AppError('not_found', 'This share link is incomplete or has expired.')
  if (config.auth.share_days === 0 || !token.startsWith(PREFIX)) throw gone
  const link = await store.accounts.findShare(sha256(token))
  if (link === null || link.revoked_at !== null || link.expires_at <= now()) throw gone
  const [session, maker] = [
    await store.sessions.get(link.session_id),
    await store.accounts.getUser(link.created_by),
  ]
  if (session === null || session.status === 'archived') throw gone
  // A link ends with its creator's access to the session.
  const mayShow = maker !== null && maker.disabled_at === null && maker.org_id === session.org_id
  if (!mayShow || !(maker.admin || session.created_by === maker.id)) throw gone
  return session
}

export const readShared: Handler<'readShared'> = async ({ services, body: { token, after } }) => {
  const session = await findShared(services, token)
  const stored = await services.store.events.read(session.id, after, PAGE)
  return {
    session: { title: session.title, agent: session.agent, state: session.state },
    events: stored.flatMap(({ json }) => sharedEvent(decodeEvent(redact(json))) ?? []),
    last_id: stored.at(-1)?.id ?? after,
    has_more: stored.length === PAGE,
  }
}
