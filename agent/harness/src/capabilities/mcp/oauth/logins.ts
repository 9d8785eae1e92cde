/**
 * Logins at MCP servers: a person authorises the service once, and it then has a token for that person, that
 * server and nothing else. Tokens are sealed in the store; in memory they exist for the length of a request.
 */
import type { McpAccountStore } from '@cairn/log'
import type { Config } from '@cairn/protocol'
import type { Sealing } from '@cairn/sessions'
import type { AuthProvider } from '@modelcontextprotocol/client'
import { type Clock, systemClock } from '@cairn/models/clock'
import type { AccountOwner } from '../../../tools/account-owner.ts'
import type { Environment } from '../transport.ts'
import { createAccounts } from './account.ts'
import { createLoginServers } from './login-servers.ts'
import type { OAuthServerConfig } from './options.ts'
import { createPersonLogins, type PersonLogins } from './person-logins.ts'
import { personalAuth } from './personal-auth.ts'
import { isWider, union } from './scopes.ts'
import { serviceAuth } from './service-auth.ts'

export type McpLoginsOptions = {
  servers: Config['mcp_servers']
  env: Environment
  store: McpAccountStore
  sealing: Sealing
  /** The address of the service for people's browsers. */
  publicUrl: () => string
  /** Called with tokens before they are used, so that no event or log line contains them. */
  learnSecrets?: (secrets: readonly string[]) => void
  clock?: Clock
}

export type McpLogins = PersonLogins & {
  /** Null: the server needs no login of this kind. */
  configOf(server: string): OAuthServerConfig | null
  authFor(server: string, owner: AccountOwner): AuthProvider
  /** Records that a server wants more permissions; false: the owner has granted them already. */
  wantScope(
    server: string,
    owner: AccountOwner,
    scope: string,
    resourceMetadataUrl?: string,
  ): Promise<boolean>
  isConnected(server: string, owner: AccountOwner): Promise<boolean>
  /** Where a person begins a login. */
  linkOf(server: string): string
  /** The client id metadata document of this service. */
  clientDocument(): Record<string, unknown>
}

export function createMcpLogins(options: McpLoginsOptions): McpLogins {
  const { servers, env, store, sealing, publicUrl, learnSecrets = () => {}, clock = systemClock } = options
  const accounts = createAccounts({ store, sealing, now: clock.now })
  const at = createLoginServers({ servers, env, publicUrl })
  const { required, keyOf, linkOf } = at
  const personal = { accounts, store, clock, linkOf, learnSecrets }
  const ofService = new Map<string, AuthProvider>()

  return {
    ...createPersonLogins({ at, accounts, store, sealing, clock, learnSecrets }),
    configOf: at.configOf,
    linkOf,
    clientDocument: at.clientDocument,
    authFor(server, owner) {
      const config = required(server)
      if (config.grant === 'authorization_code')
        return personalAuth(personal, { server, config, key: keyOf(server, config, owner) })
      // One token of the service for all connections to the server.
      let auth = ofService.get(server)
      if (auth === undefined) ofService.set(server, (auth = serviceAuth(config, { clock, learnSecrets })))
      return auth
    },
    async wantScope(server, owner, scope, resource_metadata_url) {
      const config = required(server)
      let wider = false
      await accounts.change(keyOf(server, config, owner), account => {
        const wanted = union(account.wanted?.scope, account.tokens?.scope, scope)
        wider = isWider(wanted, account.tokens?.scope)
        if (!wider) return account
        return {
          ...account,
          wanted: { scope: wanted, ...(resource_metadata_url ? { resource_metadata_url } : {}) },
        }
      })
      return wider
    },
    async isConnected(server, owner) {
      const config = required(server)
      if (config.grant !== 'authorization_code') return true
      const { account } = await accounts.read(keyOf(server, config, owner))
      return account.tokens !== null && account.tokens.url === config.url && account.wanted === null
    },
  }
}
