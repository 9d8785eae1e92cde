/** Starts inbox notifications, and returns how their settings are sealed and validated. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { openWays, startInboxNotifications } from '@cairn/channels'
import { hostOf, isNamedInternal, portOf, urlProblem } from '@cairn/sandbox/egress'
import { guardedFetch, type ResolveHost } from '@cairn/sandbox/guarded-fetch'
import type { LogStore, Redact, UserRow } from '@cairn/log'
import type { NotificationDeps, Sealing } from '@cairn/sessions'
import type { ServiceOptions } from './service-options.ts'

type Given = Pick<ServiceOptions, 'role' | 'config' | 'env'> & {
  sealing: Sealing
  redact: Redact
  /** Resolves host names; default: the system's resolver. */
  resolveHost?: ResolveHost
}
type Report = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void

export function startNotifying(
  { role, config: { notices, public_url }, env, sealing, redact, resolveHost }: Given,
  store: LogStore,
  admin: UserRow,
  report: Report,
  parts: AsyncDisposableStack,
): Pick<NotificationDeps, 'sealing' | 'urlProblem'> {
  const { egress, mail } = notices
  const mailing =
    mail === undefined
      ? null
      : {
          ...mail,
          smtp: { ...mail.smtp, password: env[mail.smtp.password_env ?? ''] ?? null },
        }
  if (role !== 'worker') {
    const running = startInboxNotifications({
      store,
      ways: openWays(guardedFetch(egress, resolveHost), mailing, contactOf(public_url, mail?.from), Date.now),
      sealing,
      redact,
      publicUrl: public_url ?? null,
      org_id: admin.org_id,
      holder: `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`,
      newId: randomUUID,
      now: Date.now,
      random: Math.random,
      report,
    })
    parts.defer(() => running.stop())
  }
  return {
    sealing,
    urlProblem(url) {
      const parsed = new URL(url)
      if (parsed.protocol !== 'https:' && !isNamedInternal(hostOf(parsed), egress, portOf(parsed)))
        return 'must be an https URL, or the URL of a host in notices.egress.internal'
      return urlProblem(url, egress)
    },
  }
}

/** RFC 8292: where a push service reaches the operator. Some services refuse a request without one. */
const contactOf = (publicUrl: string | undefined, from: string | undefined): string =>
  from !== undefined
    ? `mailto:${from}`
    : publicUrl?.startsWith('https:')
      ? publicUrl
      : 'mailto:cairn@localhost'
