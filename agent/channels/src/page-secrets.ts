/**
 * Redacts secrets of connections that were created in the web UI, also in processes that run none of these
 * connections: a model may be given a secret, and a tool may print it.
 */
import type { ChannelConnection } from '@cairn/log'
import { asError } from '@cairn/protocol'
import { openConnectionSettings } from '@cairn/sessions'
import type { Opening } from './open-connection.ts'
import { secretsOf } from './platforms.ts'

const POLL_MS = 1_000

export type PageSecrets = Pick<Opening, 'sealing' | 'learnSecrets' | 'report'>

/** Includes disabled connections: people may still know their secrets. */
export function createPageSecrets({ sealing, learnSecrets, report }: PageSecrets) {
  /** Keyed by connection; the encrypted values. */
  const known = new Map<string, string | null>()
  return (rows: Iterable<ChannelConnection>): void => {
    for (const row of rows) {
      const { id, name, origin, sealed_secrets } = row
      if (origin !== 'page' || known.get(id) === sealed_secrets) continue
      known.set(id, sealed_secrets)
      try {
        const { settings, env } = openConnectionSettings(sealing, row)
        learnSecrets(secretsOf(settings, env))
      } catch (thrown) {
        const { message: error } = asError(thrown)
        report('warn', `cannot decrypt the secrets of channel ${name}: ${error}`)
      }
    }
  }
}

/** For a process that runs no connection. The existing secrets are known when this resolves. */
export async function followPageSecrets(
  options: PageSecrets & Pick<Opening, 'store'> & { org_id: string },
): Promise<() => Promise<void>> {
  const { store, org_id, report } = options
  const learn = createPageSecrets(options)
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => learn(await store.channels.standingConnections(org_id))
  let looking = look()
  const later = (): void => {
    timer = setTimeout(() => {
      looking = look()
        .catch((error: unknown) => report('error', 'failed to read the channels', { error: String(error) }))
        .then(() => (isStopped ? undefined : later()))
    }, POLL_MS)
    timer.unref()
  }
  await looking
  later()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    await looking
  }
}
