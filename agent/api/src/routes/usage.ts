/** Usage and the state of the service; for administrators, within their organisation. */
import type { Handler } from '../handler.ts'

const DAY_MS = 86_400_000
const MAX_DAYS = 366

export const usage: Handler<'usage'> = async ({ services, principal, query }) => {
  const now = services.now()
  const today = now - (now % DAY_MS)
  const { by = 'agent', days = 30 } = query
  const rows = await services.store.search.usage({
    org_id: principal.org_id,
    by,
    since: today - Math.min(days, MAX_DAYS) * DAY_MS,
    until: today + DAY_MS,
  })
  return { rows: rows.map(row => ({ ...row, day: new Date(row.day).toISOString().slice(0, 10) })) }
}

export const health: Handler<'health'> = async ({ services }) => ({
  version: services.version,
  ready: await services.isReady().then(
    () => true,
    () => false,
  ),
  sandbox: services.sandbox?.summary ?? 'Commands run in runners on other machines.',
  open_streams: services.streams.count(),
  sessions_to_index: await services.store.search.behind(),
})
