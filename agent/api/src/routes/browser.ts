/** The browser of a session: watch it, take control, release it. */
import { AppError, type Principal } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import type { LiveBrowsers } from '../live-browsers.ts'

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

function liveOf({ browsers }: Services): LiveBrowsers {
  const live = browsers?.() ?? null
  if (live === null)
    throw new AppError(
      'browser_unavailable',
      'This process has no runner with browsers: connect to one that does.',
    )
  return live
}

export const getBrowser: Handler<'getBrowser'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const { holder, control_until, ...view } = await liveOf(services).view(params.id)
  return {
    ...view,
    holder:
      holder === null
        ? null
        : { user_id: holder, name: (await services.store.accounts.getUser(holder))?.name ?? 'somebody' },
    control_until: iso(control_until),
  }
}

/** Watching requires access to the session; control requires its owner or an administrator. */
async function mayDrive(
  services: Services,
  principal: Extract<Principal, { kind: 'user' }>,
  id: string,
): Promise<void> {
  const session = await services.guard.load(principal, id)
  if (session.created_by !== principal.id && !principal.admin)
    throw new AppError(
      'forbidden',
      'Only the owner of the session or an administrator can control its browser.',
    )
}

export const controlBrowser: Handler<'controlBrowser'> = async ({ services, principal, params, body }) => {
  await mayDrive(services, principal, params.id)
  const live = liveOf(services)
  const { action, inbox_item_id = null } = body
  if (action === 'force' && !principal.admin)
    throw new AppError('forbidden', 'Only an administrator can take the browser from another user.')
  const { outcome, control_until } =
    action === 'release'
      ? await live.release(params.id, principal)
      : await live.acquire(params.id, principal, action === 'force', inbox_item_id)
  return { outcome, control_until: iso(control_until) }
}

export const destroyBrowser: Handler<'destroyBrowser'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  await liveOf(services).destroy(params.id)
  return undefined
}

export const browserScreenshot: Handler<'browserScreenshot'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const picture = await liveOf(services).picture(params.id, principal.id)
  if (picture === null)
    throw new AppError('not_found', 'No screenshot: another user is controlling the browser.')
  return { image: `data:image/jpeg;base64,${picture.toString('base64')}` }
}

export const browserTicket: Handler<'browserTicket'> = async ({ services, principal, identity, params }) => {
  await services.guard.check(principal, params.id)
  // Without a browser there is nothing to watch, so no ticket is issued.
  await liveOf(services).find(params.id)
  const { ticket, expires_at } = services.liveTickets.issue(params.id, {
    identity,
    person: { id: principal.id, admin: principal.admin },
  })
  return { ticket, expires_at: new Date(expires_at).toISOString() }
}
