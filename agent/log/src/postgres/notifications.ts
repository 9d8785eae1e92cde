/**
 * Notifies other processes of changes. One NOTIFY covers everything committed while the last was being sent,
 * and runs outside the transactions, because NOTIFY serialises the commits of a whole server. A separate
 * connection listens, with a slow poll behind it (notification-listener.ts). Notifications carry no data:
 * readers continue from their cursors.
 */
import { asError } from '@cairn/protocol'
import type { PostgresAddress } from './address.ts'
import type { Database, Report, Statement } from './connections.ts'
import { type Listener, type ListenerOptions, startListening } from './notification-listener.ts'
import { joinWords, packWords, subjectOf, type Word } from './notification-payload.ts'

/** Not durable: there is nothing to keep, and waiting for the disk would delay commits. */
const NOTIFY: Statement = {
  name: 'notify',
  text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`,
}

export type Notifications = Listener & { tell(word: Word): void }

/** `self` is the name of this process, which ignores its own notifications. */
export async function startNotifications(
  address: PostgresAddress,
  db: Database,
  self: string,
  options: ListenerOptions,
): Promise<Notifications> {
  const channel = `cairn_${address.schema}`
  const { tell, told } = createPublisher(db, channel, self, options.report)
  const listener = await startListening(address, channel, self, options)
  return {
    tell,
    async close() {
      await told()
      await listener.close()
    },
  }
}

function createPublisher(db: Database, channel: string, self: string, report: Report) {
  let pending = new Map<string, Word>()
  let sending: Promise<void> | null = null

  async function send(): Promise<void> {
    while (pending.size > 0) {
      const words = [...pending.values()]
      pending = new Map()
      for (const payload of packWords(self, words)) {
        try {
          await db.query(NOTIFY, [channel, payload])
        } catch (error) {
          report('warn', 'telling the other processes failed; they poll', { error: asError(error).message })
        }
      }
    }
    sending = null
  }

  return {
    tell(word: Word): void {
      const subject = subjectOf(word)
      pending.set(subject, joinWords(pending.get(subject), word))
      sending ??= Promise.resolve().then(send)
    },
    /** Resolves when everything is sent. */
    told: async (): Promise<void> => void (await sending),
  }
}
