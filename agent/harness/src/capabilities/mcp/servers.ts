/** All configured MCP servers. None of them can delay the start of the service or of a turn. */
import type { Config, McpServerConfig } from '@cairn/protocol'
import { type Clock, systemClock } from '@cairn/models/clock'
import type { Logger } from '@cairn/models/logger'
import type { Tool } from '../../tools/tool.ts'
import type { Quota } from '../../tools/workspace-quota.ts'
import { authorizeTool } from './authorize-tool.ts'
import type { ConnectionLogin, McpConnection } from './connection-state.ts'
import type { AccountOwner } from '../../tools/account-owner.ts'
import type { McpLogins } from './oauth/logins.ts'
import { isNameOfServer } from './tool-name.ts'
import type { Environment, McpSandboxes } from './transport.ts'

export type McpOptions = {
  servers: Config['mcp_servers']
  /** Environment for the variables that the configuration names. */
  env: Environment
  /** The sandboxes of stdio servers (sandboxed.ts). */
  boxes: McpSandboxes
  /** Reaches servers over HTTP; absent: the usual fetch. */
  fetch?: typeof globalThis.fetch
  /** Tool names and patterns in the lists of the configuration; those that match nothing are logged. */
  named?: readonly string[]
  /** Called with a server's tools each time they were listed: definitions may have changed. */
  onTools?: (tools: readonly Tool[]) => void
  /** Size limit of workspaces, where files of results are saved; absent: none. */
  quota?: Pick<Quota, 'mustFit'>
  /** Required if a server has `auth`. */
  logins?: McpLogins
  newId?: () => string
  logger: Logger
  clock?: Clock
  random?: () => number
}
export type McpServers = {
  /** The tools of the servers that are connected now, with those of the owner's accounts. */
  tools(owner?: AccountOwner): readonly Tool[]
  /** Connects the servers that are used with the owner's accounts. Rejects with the signal's reason only. */
  prepare(owner: AccountOwner, signal: AbortSignal): Promise<void>
  /**
   * For a tool name that the turn does not have: waits for the first attempt to connect to its server. Null:
   * no configured server has that name. Rejects with the signal's reason.
   */
  find(name: string, signal: AbortSignal, owner?: AccountOwner): Promise<Tool | { absence: string } | null>
  /** Settles after the first attempt of every server without accounts. Turns do not wait for it. */
  ready: Promise<void>
  /** Ends the connections, and the processes of servers that were started. */
  stop(): Promise<void>
}

/** Time that a turn waits for the servers of its person's accounts. */
const PREPARE_MS = 5000
/** A connection with a person's account ends when it was not used for this long. */
const IDLE_MS = 30 * 60_000

type Connect = (name: string, config: McpServerConfig, login: ConnectionLogin | undefined) => McpConnection

export function startMcpServers({
  servers,
  env,
  boxes,
  fetch,
  named = [],
  onTools = () => {},
  quota = { mustFit: () => Promise.resolve() },
  logins,
  newId = () => crypto.randomUUID(),
  logger,
  clock = systemClock,
  random = Math.random,
}: McpOptions): McpServers {
  const names = Object.keys(servers)
  let isStopped = false
  // Loaded only if there is a server: the SDK takes some 8 MB.
  async function load(): Promise<Connect | null> {
    const { connectMcpServer } = await import('./connection.ts')
    if (isStopped) return null
    const around = { env, boxes, fetch, named, onTools, logger, clock, random, mustFit: quota.mustFit }
    return (name, config, login) =>
      connectMcpServer(name, config, { ...around, ...(login === undefined ? {} : { login }) })
  }
  const loaded: Promise<Connect | null> = names.length === 0 ? Promise.resolve(null) : load()

  /** Whether people log in to the server; it then has a connection per account. */
  const isPersonal = (name: string): boolean =>
    logins !== undefined && logins.configOf(name)?.grant === 'authorization_code'
  const personalNames = names.filter(isPersonal)
  const common = new Map<string, McpConnection>()
  const accounts = createAccountConnections({ servers, logins, clock, loaded })

  const started = loaded.then(connect => {
    for (const [name, config] of Object.entries(servers))
      if (connect !== null && !isPersonal(name)) common.set(name, connect(name, config, serviceLogin(name)))
  })
  /** A login of the service itself is the same for everyone. */
  function serviceLogin(name: string): ConnectionLogin | undefined {
    const noPerson = { org_id: '', user_id: null }
    return logins === undefined || logins.configOf(name) === null
      ? undefined
      : loginOf(logins, name, noPerson)
  }
  const connectionOf = (name: string, owner: AccountOwner | undefined): McpConnection | undefined =>
    isPersonal(name) ? owner && accounts.get(name, owner) : common.get(name)
  const connectionsOf = (owner: AccountOwner | undefined): [string, McpConnection][] =>
    names.flatMap((name): [string, McpConnection][] => {
      const connection = connectionOf(name, owner)
      return connection === undefined ? [] : [[name, connection]]
    })
  const tools = (owner?: AccountOwner): readonly Tool[] =>
    connectionsOf(owner).flatMap(([name, connection]) => {
      const link = connection.loginLink()
      return link === null ? connection.tools() : [authorizeTool(name, link, newId)]
    })
  async function prepare(owner: AccountOwner, signal: AbortSignal): Promise<void> {
    if (personalNames.length === 0) return
    await unlessAborted(signal, atMost(clock, PREPARE_MS, accounts.open(personalNames, owner)))
  }
  return {
    tools,
    prepare,
    async find(name, signal, owner) {
      const wanted = names.filter(server => isNameOfServer(name, server))
      if (wanted.length === 0) return null
      await unlessAborted(signal, started)
      if (owner !== undefined) await prepare(owner, signal)
      await unlessAborted(signal, settle(wanted.map(server => connectionOf(server, owner)?.ready)))
      const found = tools(owner).find(tool => tool.name === name)
      const absences = wanted.flatMap(server => absenceIn(server, connectionOf(server, owner), name))
      return found ?? (absences.length === 0 ? null : { absence: absences.join('; ') })
    },
    ready: started.then(() => settle([...common.values()].map(({ ready }) => ready))),
    async stop() {
      isStopped = true
      await Promise.all([...common.values(), ...accounts.all()].map(connection => connection.stop()))
    },
  }
}

const absenceIn = (server: string, connection: McpConnection | undefined, tool: string): string[] => {
  if (connection === undefined)
    return [
      `MCP server '${server}' is used with a person's own account, and this turn has no person with one`,
    ]
  const absence = connection.absence(tool)
  return absence === null ? [] : [absence]
}

const loginOf = (logins: McpLogins, name: string, owner: AccountOwner): ConnectionLogin => ({
  auth: logins.authFor(name, owner),
  link: logins.linkOf(name),
  isConnected: () => logins.isConnected(name, owner),
  wantScope: (scope, resourceMetadataUrl) => logins.wantScope(name, owner, scope, resourceMetadataUrl),
})

type AccountOptions = Pick<McpOptions, 'servers'> & {
  logins: McpLogins | undefined
  clock: Clock
  loaded: Promise<Connect | null>
}

/** Connections with accounts: one for each server and owner, so that no answer of one reaches another. */
function createAccountConnections({ servers, logins, clock, loaded }: AccountOptions) {
  type Held = { connection: McpConnection; stopIdle: () => void }
  const held = new Map<string, Held>()
  const keyOf = (name: string, { org_id, user_id }: AccountOwner): string | null => {
    const isShared = logins?.configOf(name)?.per === 'shared'
    return isShared
      ? JSON.stringify([name, org_id])
      : user_id === null
        ? null
        : JSON.stringify([name, org_id, user_id])
  }
  function touch(key: string, entry: Held): void {
    entry.stopIdle()
    entry.stopIdle = clock.after(IDLE_MS, () => {
      held.delete(key)
      void entry.connection.stop()
    })
  }
  return {
    all: (): McpConnection[] => {
      for (const { stopIdle } of held.values()) stopIdle()
      return [...held.values()].map(({ connection }) => connection)
    },
    get(name: string, owner: AccountOwner): McpConnection | undefined {
      const key = keyOf(name, owner)
      return key === null ? undefined : held.get(key)?.connection
    },
    async open(names: readonly string[], owner: AccountOwner): Promise<void> {
      const connect = await loaded
      if (connect === null || logins === undefined) return
      const opened = names.map(async name => {
        const key = keyOf(name, owner)
        const config = servers[name]
        if (key === null || config === undefined) return
        let entry = held.get(key)
        if (entry === undefined) {
          entry = { connection: connect(name, config, loginOf(logins, name, owner)), stopIdle: () => {} }
          held.set(key, entry)
        }
        touch(key, entry)
        await entry.connection.ready
        await entry.connection.retryLogin()
      })
      await Promise.all(opened)
    },
  }
}

const settle = async (running: readonly (Promise<void> | undefined)[]): Promise<void> =>
  void (await Promise.all(running))

/** Resolves when the work is done, or after `ms` while it continues. */
async function atMost(clock: Clock, ms: number, running: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const cancel = clock.after(ms, late.resolve)
  try {
    await Promise.race([running, late.promise])
  } finally {
    cancel()
  }
}

async function unlessAborted(signal: AbortSignal, running: Promise<void>): Promise<void> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    await Promise.race([running, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
