/** The caller's accounts at MCP servers. */
import { AppError } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'
import type { McpAccounts } from '../mcp-accounts.ts'

function accountsOf({ mcp }: Services): McpAccounts {
  if (mcp === undefined)
    throw new AppError('not_found', 'No MCP server of this service has a login (mcp_servers.NAME.auth).')
  return mcp
}

export const listMcpAccounts: Handler<'listMcpAccounts'> = async ({ services, principal }) => {
  const listed = (await services.mcp?.list(principal)) ?? []
  return {
    accounts: listed.map(({ connected_at, ...account }) => ({
      ...account,
      link: accountsOf(services).linkOf(account.server),
      connected_at: connected_at === null ? null : new Date(connected_at).toISOString(),
    })),
  }
}

export const beginMcpLogin: Handler<'beginMcpLogin'> = async ({ services, principal, params }) => {
  const { authorization_url, expires_at } = await accountsOf(services).begin(params.server, principal)
  return { authorization_url, expires_at: new Date(expires_at).toISOString() }
}

export const removeMcpAccount: Handler<'removeMcpAccount'> = async ({ services, principal, params }) => {
  if (!(await accountsOf(services).remove(params.server, principal)))
    throw new AppError('not_found', `You have no account at MCP server ${params.server}.`)
  return undefined
}
