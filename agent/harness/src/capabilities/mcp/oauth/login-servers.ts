/** The servers with a login, the accounts that they use, and the addresses of the service for them. */
import type { McpAccountKey } from '@cairn/log'
import { AppError, type Config } from '@cairn/protocol'
import type { Environment } from '../transport.ts'
import { clientMetadata } from './login.ts'
import type { AccountOwner } from '../../../tools/account-owner.ts'
import type { Person } from './person.ts'
import { type OAuthServerConfig, oauthOf } from './options.ts'

const CALLBACK = '/v1/mcp/callback'
const DOCUMENT = '/v1/mcp/client.json'

type Options = { servers: Config['mcp_servers']; env: Environment; publicUrl: () => string }

export function createLoginServers({ servers, env, publicUrl }: Options) {
  const base = (): string => publicUrl().replace(/\/$/, '')

  function configOf(server: string): OAuthServerConfig | null {
    const config = Object.hasOwn(servers, server) ? servers[server] : undefined
    return config === undefined ? null : oauthOf(config, env)
  }
  function required(server: string): OAuthServerConfig {
    const config = configOf(server)
    if (config === null)
      throw new AppError('not_found', `MCP server ${server} not found, or it has no \`auth.oauth\`.`)
    return config
  }
  function interactive(server: string): OAuthServerConfig {
    const config = required(server)
    if (config.grant !== 'authorization_code')
      throw new AppError(
        'wrong_state',
        `MCP server ${server} uses a login of the service: no person has to log in.`,
      )
    return config
  }
  const linkOf = (server: string): string => `${base()}/v1/mcp/connect/${encodeURIComponent(server)}`
  function keyOf(
    server: string,
    { per }: OAuthServerConfig,
    { org_id, user_id }: AccountOwner,
  ): McpAccountKey {
    if (per === 'user' && user_id === null)
      throw new Error(
        `[mcp logins] ${server} is used with a person's own account, and the turn has no person`,
      )
    return { org_id, server, owner_id: per === 'shared' ? '' : (user_id ?? '') }
  }
  const ownKey = (server: string, config: OAuthServerConfig, { org_id, id }: Person): McpAccountKey =>
    keyOf(server, config, { org_id, user_id: id })
  function changeable(server: string, { admin }: Person): OAuthServerConfig {
    const config = interactive(server)
    if (config.per === 'shared' && !admin)
      throw new AppError(
        'forbidden',
        `Only an administrator can change the shared account of MCP server ${server}.`,
      )
    return config
  }
  const metadataUrlOf = ({ client_metadata_url }: OAuthServerConfig): string | null =>
    client_metadata_url ?? (base().startsWith('https://') ? `${base()}${DOCUMENT}` : null)

  return {
    names: Object.keys(servers),
    configOf,
    required,
    changeable,
    keyOf,
    ownKey,
    linkOf,
    metadataUrlOf,
    callbackUrl: () => `${base()}${CALLBACK}`,
    clientDocument: () => ({
      client_id: `${base()}${DOCUMENT}`,
      client_uri: base(),
      token_endpoint_auth_method: 'none',
      ...clientMetadata(`${base()}${CALLBACK}`),
    }),
  }
}
export type LoginServers = ReturnType<typeof createLoginServers>
