/** A person logs in to their accounts at MCP servers, lists them, and logs out. */
import { createHash, randomBytes } from 'node:crypto'
import type { McpAccountStore } from '@cairn/log'
import { AppError } from '@cairn/protocol'
import type { Sealing } from '@cairn/sessions'
import type { Clock } from '@cairn/models/clock'
import type { Accounts } from './account.ts'
import { finishFlow, startFlow } from './flow.ts'
import { PendingLogin } from './login.ts'
import type { LoginServers } from './login-servers.ts'
import type { McpAccountView, Person } from './person.ts'
import { secretsIn } from './tokens.ts'

const LOGIN_TTL_MS = 10 * 60_000

type Deps = {
  at: LoginServers
  accounts: Accounts
  store: McpAccountStore
  sealing: Sealing
  clock: Clock
  learnSecrets: (secrets: readonly string[]) => void
}

export type PersonLogins = {
  /** Begins a login; the answer is the address at the authorization server. */
  begin(server: string, person: Person): Promise<{ authorization_url: string; expires_at: number }>
  /** Ends a login with what the authorization server sent to the callback. */
  complete(params: URLSearchParams, person: Person): Promise<{ server: string; link: string }>
  list(person: Person): Promise<McpAccountView[]>
  /** False: there was no account. */
  remove(server: string, person: Person): Promise<boolean>
}

export function createPersonLogins({
  at,
  accounts,
  store,
  sealing,
  clock,
  learnSecrets,
}: Deps): PersonLogins {
  return {
    async begin(server, person) {
      const config = at.changeable(server, person)
      const key = at.ownKey(server, config, person)
      const { account } = await accounts.read(key)
      const state = randomBytes(32).toString('base64url')
      const { pending, target } = await startFlow(config, account, {
        redirect_uri: at.callbackUrl(),
        client_metadata_url: at.metadataUrlOf(config),
        state,
      })
      // The registration is kept even if the person never comes back: the next login uses it.
      if (Object.keys(pending.clients).length > Object.keys(account.clients).length)
        await accounts.change(key, each => ({ ...each, clients: { ...each.clients, ...pending.clients } }))
      const state_sha256 = hashOf(state)
      await store.beginLogin(key.org_id, {
        state_sha256,
        user_id: person.id,
        server,
        owner_id: key.owner_id,
        sealed: sealing.seal(`mcp login ${state_sha256}`, JSON.stringify(pending)),
        ttl_ms: LOGIN_TTL_MS,
      })
      return { authorization_url: target.href, expires_at: clock.now() + LOGIN_TTL_MS }
    },
    async complete(params, person) {
      const state_sha256 = hashOf(params.get('state') ?? '')
      const login = await store.takeLogin(person.org_id, state_sha256, person.id)
      const text = login === null ? null : sealing.open(`mcp login ${state_sha256}`, login.sealed)
      if (login === null || text === null)
        throw new AppError(
          'wrong_state',
          'This login is unknown, was used already, or has expired: begin a new one.',
        )
      const { server, owner_id } = login
      const config = at.changeable(server, person)
      const key = { org_id: person.org_id, server, owner_id }
      const finished = await finishFlow(config, PendingLogin.parse(JSON.parse(text)), params, clock.now())
      learnSecrets(secretsIn(finished.tokens))
      await accounts.change(key, account => ({
        tokens: finished.tokens,
        clients: { ...account.clients, ...finished.clients },
        wanted: null,
      }))
      return { server, link: at.linkOf(server) }
    },
    async list(person) {
      const views: McpAccountView[] = []
      for (const server of at.names) {
        const config = at.configOf(server)
        if (config === null) continue
        const row = await store.account(at.ownKey(server, config, person))
        const { scope = null, issuer = null, connected_at = null } = row ?? {}
        const connected = config.grant !== 'authorization_code' || connected_at !== null
        views.push({ server, per: config.per, connected, scope, issuer, connected_at })
      }
      return views
    },
    remove: async (server, person) => store.remove(at.ownKey(server, at.changeable(server, person), person)),
  }
}

const hashOf = (state: string): string => createHash('sha256').update(state).digest('hex')
