/**
 * Pages of a login at an MCP server: they take a person's browser to the authorization server and back. The
 * cookie of the login here is never sent by a link of another site, so a page with a link of this site comes
 * first where it is missing.
 */
import type { Deps } from '@cairn/sessions'
import { completeActions } from '@cairn/sessions'
import { AppError, asError, type Principal } from '@cairn/protocol'
import type { Mount } from './http/mounts.ts'
import type { McpAccounts } from './mcp-accounts.ts'
import { escapeHtml } from './site/html.ts'

const PREFIX = '/v1/mcp/'
const CONNECT = `${PREFIX}connect/`
/** `action_type` of the item by which an agent asks for a login. */
const CONNECT_ACCOUNT = 'connect_account'
/** In the query: this site's own page led here. */
const FROM_HERE = 'from_here'

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
}

type User = Extract<Principal, { kind: 'user' }>
type PageDeps = { accounts: McpAccounts; sessions: Deps }

export const mcpPages = (deps: PageDeps): Mount => ({
  prefix: PREFIX,
  async handle({ method, path, query, principal }) {
    if (method !== 'GET' && method !== 'HEAD')
      throw new AppError('method_not_allowed', `Method ${method} not allowed. Allowed: GET.`)
    if (path === `${PREFIX}client.json`) return Response.json(deps.accounts.clientDocument())
    const isCallback = path === `${PREFIX}callback`
    if (!isCallback && !path.startsWith(CONNECT))
      throw new AppError('not_found', `Unknown route ${path.slice(0, 200)}.`)
    const person = await principal()
    if (person?.kind !== 'user') return withoutLogin(path, query, isCallback)
    try {
      return await (isCallback ? finish(deps, query, person) : start(deps, path, person))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return page(400, 'The login failed', escapeHtml(asError(error).message))
    }
  },
})

function withoutLogin(path: string, query: URLSearchParams, isCallback: boolean): Response {
  if (query.has(FROM_HERE))
    return page(401, 'Log in first', 'Log in to Cairn in this browser, and open the link again.')
  const again = new URLSearchParams(query)
  again.set(FROM_HERE, '1')
  const href = escapeHtml(`${path}?${again}`)
  // A callback ends a login that the person started; a link of another site must not start one.
  return isCallback
    ? page(200, 'One moment', '', `<meta http-equiv="refresh" content="0;url=${href}">`)
    : page(200, 'Connect an account', `<a href="${href}">Continue</a>`)
}

async function start({ accounts }: PageDeps, path: string, person: User): Promise<Response> {
  const { authorization_url } = await accounts.begin(decodeURIComponent(path.slice(CONNECT.length)), person)
  return new Response(null, { status: 302, headers: { ...HEADERS, location: authorization_url } })
}

async function finish(
  { accounts, sessions }: PageDeps,
  query: URLSearchParams,
  person: User,
): Promise<Response> {
  const { server, link } = await accounts.complete(query, person)
  await completeActions(sessions, person, { action_type: CONNECT_ACCOUNT, target: link })
  return page(200, 'Connected', `${escapeHtml(server)} is connected. You can close this window.`)
}

const page = (status: number, title: string, body: string, head = ''): Response =>
  new Response(
    `<!doctype html><html lang="en"><head><title>${title}</title>${head}</head>` +
      `<body><h1>${title}</h1><p>${body}</p></body></html>`,
    { status, headers: HEADERS },
  )
