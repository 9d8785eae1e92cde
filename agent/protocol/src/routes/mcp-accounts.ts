/** Routes for a person's accounts at MCP servers. */
import { z } from 'zod'
import type { Route } from './route.ts'

const McpAccountView = z
  .object({
    server: z.string().describe('name in mcp_servers'),
    per: z.enum(['user', 'shared']).describe('shared: one account of the organisation'),
    connected: z.boolean(),
    scope: z.string().nullable().describe('granted scopes, separated by blanks'),
    issuer: z.string().nullable().describe('the authorization server'),
    link: z.string().describe('the page at which a person logs in'),
    connected_at: z.string().nullable(),
  })
  .meta({ id: 'McpAccount' })

const route = { access: 'user', alias: false } as const

export const MCP_ACCOUNT_ROUTES = {
  listMcpAccounts: {
    ...route,
    method: 'GET',
    path: '/mcp-accounts',
    summary: 'List the MCP servers with a login, and your account at each',
    status: 200,
    answer: z.object({ accounts: z.array(McpAccountView) }),
  },
  beginMcpLogin: {
    ...route,
    method: 'POST',
    path: '/mcp-accounts/{server}/login',
    errors: ['forbidden'],
    summary: 'Begin a login: open the returned address in a browser that is logged in here',
    status: 200,
    answer: z.object({ authorization_url: z.string(), expires_at: z.string() }),
  },
  removeMcpAccount: {
    ...route,
    method: 'DELETE',
    path: '/mcp-accounts/{server}',
    errors: ['forbidden'],
    summary: 'Delete your account and its tokens here; the authorization server is not notified',
    status: 204,
  },
} as const satisfies Record<string, Route>
