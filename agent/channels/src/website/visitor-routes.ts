/** Routes of a visitor's frame. A visitor acts with the connection's service account. */
import type { SessionRow } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import { answerQuestion, archiveSession, confirmDisclosure, stopSession } from '@cairn/sessions'
import { accountOf } from '../sender.ts'
import { conversationOf, disclosureOf, visitorFor } from './begin-conversation.ts'
import { BeginBody, bodyOf, MessageBody, RespondBody } from './bodies.ts'
import { checkConfirmed, type Site, type SiteCall, type SiteDeps, siteOfKey, writerOf } from './owner.ts'
import { countAs, sayAs } from './say.ts'
import { attachmentsOf, putUpload } from './uploads.ts'
import * as visitors from './visitor.ts'

const done = (): Response => new Response(null, { status: 204 })

/** The visitor's conversation, created if there is none. */
export async function begin(deps: SiteDeps, call: SiteCall): Promise<Response> {
  const { key, identity, language, no_cookies } = bodyOf(call, BeginBody)
  const site = await siteOfKey(deps, key)
  const { connection, origins, identitySecret, requireConfirm } = site
  visitors.checkOrigin(call.headers, origins)
  const known =
    identity === undefined ? null : await visitors.verifyIdentity(identity, identitySecret, deps.now())
  const { visitor, token } = await visitorFor(deps, call.headers, connection, known, () =>
    deps.budgets.charge(site, call.address, { visitors: 1 }),
  )
  const told = disclosureOf(connection, language ?? null)
  const session_id = await conversationOf(deps, connection, visitors.visitorKey(visitor), told)
  const confirmed = await deps.store.events.read(session_id, 0, 1, ['disclosure.confirmed'])
  const answer = {
    session_id,
    csrf: visitors.csrfOf(token),
    disclosure: told,
    require_confirm: requireConfirm && told !== null,
    confirmed: confirmed.length > 0,
    ...(no_cookies === true ? { token } : {}),
  }
  const headers = no_cookies === true ? {} : { 'set-cookie': visitors.cookieLine(connection.id, token) }
  return Response.json(answer, { status: 201, headers })
}

export async function say(deps: SiteDeps, call: SiteCall, id: string): Promise<Response> {
  const { site, visitor } = await writerOf(deps, call, id)
  const { content, uploads } = bodyOf(call, MessageBody)
  await checkConfirmed(deps, site, id)
  await spend(deps, call, site, id)
  const key = call.headers.get('idempotency-key') ?? deps.newId()
  const attachments = uploads.length === 0 ? [] : await attachmentsOf(deps, await goingOn(deps, id), uploads)
  const taken = await sayAs(deps, site.connection, visitor, { session_id: id, content, attachments, key })
  return Response.json(taken, { status: 202 })
}

/** For requests that make the model answer. Throws AppError rate_limited beyond a budget. */
async function spend(
  { budgets }: SiteDeps,
  { address, raw }: SiteCall,
  site: Site,
  id: string,
): Promise<void> {
  await budgets.checkTokens(site)
  budgets.charge(site, address, { messages: 1, bytes: raw.length })
  await budgets.follow(site, id)
}

/** The request body is the file, whatever its content type; `?name=` is its name. */
export async function upload(deps: SiteDeps, call: SiteCall, id: string): Promise<Response> {
  const { site, visitor } = await writerOf(deps, call, id)
  await checkConfirmed(deps, site, id)
  const session = await goingOn(deps, id)
  deps.budgets.charge(site, call.address, { messages: 1, bytes: call.raw.length })
  await countAs(deps, site.connection, visitor, id)
  const name = call.query.get('name') ?? 'file'
  return Response.json(await putUpload(deps, session, name, call.raw), { status: 201 })
}

async function goingOn({ store }: SiteDeps, id: string): Promise<SessionRow> {
  const session = await store.sessions.get(id)
  if (session === null || session.status === 'archived')
    throw new AppError('wrong_state', 'This conversation has ended: start a new one.')
  return session
}

export async function respond(deps: SiteDeps, call: SiteCall, id: string, callId: string): Promise<Response> {
  const { site } = await writerOf(deps, call, id)
  const { responses } = bodyOf(call, RespondBody)
  await checkConfirmed(deps, site, id)
  await spend(deps, call, site, id)
  const principal = accountOf(site.connection)
  const answer = { session_id: id, tool_call_id: callId, responses, principal }
  const { last_id } = await answerQuestion(deps, answer)
  return Response.json({ event_id: last_id, taken_as: 'answer' }, { status: 202 })
}

export async function stop(deps: SiteDeps, call: SiteCall, id: string): Promise<Response> {
  await writerOf(deps, call, id)
  try {
    await stopSession(deps, id, 'channel_stop')
  } catch (error) {
    // Nothing was running, so it counts as stopped.
    if (!(error instanceof AppError) || error.code !== 'wrong_state') throw error
  }
  return done()
}

export async function end(deps: SiteDeps, call: SiteCall, id: string): Promise<Response> {
  await writerOf(deps, call, id)
  const session = await deps.store.sessions.get(id)
  if (session !== null && session.status !== 'archived') await archiveSession(deps, session)
  return done()
}

export async function confirm(deps: SiteDeps, call: SiteCall, id: string): Promise<Response> {
  const { site, visitor } = await writerOf(deps, call, id)
  const { level } = site.connection.disclosure
  const principal = accountOf(site.connection)
  await confirmDisclosure(deps, id, level, principal, visitors.shortId(visitor))
  return done()
}
