/**
 * Keeps the configured connections running: polls for changes, starts new connections, and stops those that
 * were changed, disabled or deleted, and those whose agent was removed.
 */
import type { ChannelConnection } from '@cairn/log'
import { agentNamesOf } from '@cairn/sessions'
import type { Connection } from './deps.ts'
import {
  type AgentsAndModels,
  modelOf,
  type Opened,
  openConnection,
  type Opening,
  type Unopened,
} from './open-connection.ts'
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

const hasAgent = (config: AgentsAndModels, agent: string | null): boolean =>
  agent !== null && agentNamesOf(config).includes(agent)

/** The connections by id, each with the agents and models of its organisation. */
async function withConfigs(
  { configOf }: Opening,
  rows: readonly ChannelConnection[],
): Promise<Map<string, { row: ChannelConnection; config: AgentsAndModels }>> {
  const orgIds = [...new Set(rows.map(row => row.org_id))]
  const configs = await Promise.all(orgIds.map(id => configOf(id)))
  return new Map(
    rows.flatMap(row => {
      const config = configs[orgIds.indexOf(row.org_id)]
      return config === undefined ? [] : [[row.id, { row, config }] as const]
    }),
  )
}

/** `org_id`: the owner of the connections of cairn.yaml. */
export async function supervise(opening: Opening, org_id: string): Promise<Supervisor> {
  const { channels } = opening.store
  const live = new Map<string, Live & Opened & { revision: number }>()
  /** Revisions that could not be opened. They are tried again once the agent that they lack is there. */
  const failed = new Map<string, Unopened & { revision: number }>()
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
    const rows = await channels.standingConnections(org_id)
    learnSecrets(rows)
    const wanted = await withConfigs(opening, rows.filter(runs))
    for (const [id, { revision, connection }] of live) {
      const found = wanted.get(id)
      if (found?.row.revision !== revision || !hasAgent(found.config, connection.agent)) await end(id)
      else connection.model = modelOf(found.config, connection.agent)
    }
    for (const [id, { row, config }] of wanted) {
      if (isStopped || live.has(id)) continue
      const before = failed.get(id)
      if (before?.revision === row.revision && !hasAgent(config, before.missingAgent)) continue
      const opened = await openConnection(opening, row, live.values())
      if ('missingAgent' in opened) failed.set(id, { ...opened, revision: row.revision })
      else {
        const running = runConnection(opening, opened.connection, opening.holder)
        live.set(id, { ...opened, revision: row.revision, running })
        failed.delete(id)
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
      if (live.get(id)?.revision !== row.revision && failed.get(id)?.revision !== row.revision) await look()
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
