/**
 * Keeps the configured connections running: polls for changes, starts new connections, and stops those that
 * were changed, disabled or deleted.
 */
import type { ChannelConnection } from '@cairn/log'
import type { Connection } from './deps.ts'
import { type Opened, openConnection, type Opening } from './open-connection.ts'
import { createPageSecrets } from './page-secrets.ts'
import { runConnection, type Running } from './run-connection.ts'

const POLL_MS = 1_000

type Live = { connection: Connection; running: Running }
export type Supervisor = {
  /** Connections that run in this process. */
  live: ReadonlyMap<string, Live>
  /** The current connection: one that was just changed, by whichever process, is restarted first. */
  find(id: string): Promise<Live | null>
  stop(): Promise<void>
}

/** `org_id`: the owner of the connections of cairn.yaml. */
export async function supervise(opening: Opening, org_id: string): Promise<Supervisor> {
  const { channels } = opening.store
  const live = new Map<string, Live & Opened & { revision: number }>()
  /** Revisions that could not be opened and are not tried again. */
  const failed = new Map<string, number>()
  const learnSecrets = createPageSecrets(opening)
  let looking: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  const runs = (row: ChannelConnection): boolean =>
    row.state !== 'disabled' && (row.origin === 'page' || Object.hasOwn(opening.config.channels, row.name))

  async function end(id: string): Promise<void> {
    const running = live.get(id)?.running
    live.delete(id)
    await running?.stop()
  }

  async function lookOnce(): Promise<void> {
    const rows = new Map((await channels.standingConnections(org_id)).map(row => [row.id, row]))
    learnSecrets(rows.values())
    for (const [id, { revision }] of live) {
      const row = rows.get(id)
      if (row === undefined || !runs(row) || row.revision !== revision) await end(id)
    }
    for (const row of rows.values()) {
      const { id, revision } = row
      if (isStopped || live.has(id) || !runs(row) || failed.get(id) === revision) continue
      const opened = await openConnection(opening, row, live.values())
      if (opened === null) failed.set(id, revision)
      else {
        const running = runConnection(opening, opened.connection, opening.holder)
        live.set(id, { ...opened, revision, running })
      }
    }
  }
  function look(): Promise<void> {
    looking = looking.then(lookOnce).catch((error: unknown) => {
      opening.report('error', 'failed to read the channels', { error: String(error) })
    })
    return looking
  }
  const lookOn = (): void => {
    timer = setTimeout(() => void look().then(() => (isStopped ? undefined : lookOn())), POLL_MS)
    timer.unref()
  }
  await look()
  lookOn()
  return {
    live,
    async find(id) {
      const row = await channels.getConnection(id)
      if (row === null || !runs(row)) return null
      if (live.get(id)?.revision !== row.revision && failed.get(id) !== row.revision) await look()
      return live.get(id) ?? null
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await looking
      await Promise.all([...live.keys()].map(end))
    },
  }
}
