/**
 * An MCP server that wants a token, and its authorization server, on two ports of this machine. The person of
 * a test is logged in there and allows everything.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Config, type ConfigInput } from '@cairn/protocol'
import { createSealing, type Sealing } from '@cairn/sessions'
import type { Clock } from '@cairn/models/clock'
import { systemClock } from '@cairn/models/clock'
import { onTestFinished } from 'vitest'
import { createMcpLogins, type McpLogins } from '../../src/capabilities/mcp/oauth/logins.ts'
import { type McpServers, startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { memoryAccounts } from './account-store.ts'
import { INITIALIZED } from './raw-server.ts'

type Form = Record<string, string>
export type Rules = {
  /** The scope of a call that a token needs; null: any token will do. */
  needed: string | null
  /** `iss` of the callback; undefined: that of the authorization server. */
  iss: string | null | undefined
  expires_in: number | undefined
  /** Answers the token endpoint instead of a token. */
  token: ((form: Form, response: ServerResponse) => boolean) | null
  /** Origins that the server names as its authorization servers. */
  authorization_servers: string[] | null
}
export type Guarded = {
  url: string
  issuer: string
  rules: Rules
  /** `METHOD path`, of the authorization server. */
  asked: string[]
  forms: Form[]
  authorizations: URLSearchParams[]
  /** Tokens of the requests to the MCP server, in order; null: none. */
  bearers: (string | null)[]
  /** Access tokens that the server takes. */
  valid: Set<string>
  /** All tokens that the authorization server issued. */
  issued: string[]
}

async function listen(handle: (request: IncomingMessage, body: string, response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    void (async () => {
      let body = ''
      for await (const piece of request) body += String(piece)
      handle(request, body, response)
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
const json = (response: ServerResponse, body: object, status = 200, headers = {}): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body))

export async function startGuarded(): Promise<Guarded> {
  const scopes = new Map<string, string>()
  const codes = new Map<string, { challenge: string; scope: string }>()
  const guarded: Guarded = {
    url: '',
    issuer: '',
    rules: { needed: null, iss: undefined, expires_in: 3600, token: null, authorization_servers: null },
    asked: [],
    forms: [],
    authorizations: [],
    bearers: [],
    valid: new Set(),
    issued: [],
  }
  const { rules, valid } = guarded

  guarded.issuer = await listen((request, body, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', guarded.issuer)
    guarded.asked.push(`${request.method} ${pathname}`)
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return json(response, {
          issuer: guarded.issuer,
          authorization_endpoint: `${guarded.issuer}/authorize`,
          token_endpoint: `${guarded.issuer}/token`,
          registration_endpoint: `${guarded.issuer}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
          authorization_response_iss_parameter_supported: true,
        })
      case '/register':
        return json(response, { ...(JSON.parse(body) as object), client_id: 'registered' }, 201)
      case '/authorize': {
        guarded.authorizations.push(searchParams)
        const code = randomBytes(8).toString('hex')
        codes.set(code, {
          challenge: searchParams.get('code_challenge') ?? '',
          scope: searchParams.get('scope') ?? '',
        })
        const target = new URL(searchParams.get('redirect_uri') ?? '')
        target.searchParams.set('code', code)
        target.searchParams.set('state', searchParams.get('state') ?? '')
        if (rules.iss !== null) target.searchParams.set('iss', rules.iss ?? guarded.issuer)
        return void response.writeHead(302, { location: target.href }).end()
      }
      case '/token': {
        const form = Object.fromEntries(new URLSearchParams(body))
        guarded.forms.push(form)
        if (rules.token?.(form, response) === true) return undefined
        const known = codes.get(form['code'] ?? '')
        const hash = createHash('sha256')
          .update(form['code_verifier'] ?? '')
          .digest('base64url')
        if (form['grant_type'] === 'authorization_code' && known?.challenge !== hash)
          return json(response, { error: 'invalid_grant' }, 400)
        const access_token = `access-${randomBytes(8).toString('hex')}`
        const refresh_token = `refresh-${randomBytes(8).toString('hex')}`
        valid.add(access_token)
        guarded.issued.push(access_token, refresh_token)
        scopes.set(access_token, known?.scope ?? '')
        return json(response, {
          access_token,
          token_type: 'Bearer',
          refresh_token,
          ...(rules.expires_in === undefined ? {} : { expires_in: rules.expires_in }),
        })
      }
      default:
        return void response.writeHead(404).end()
    }
  })

  const origin = await listen((request, body, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return json(response, {
        resource: guarded.url,
        authorization_servers: rules.authorization_servers ?? [guarded.issuer],
      })
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const token = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? null
    guarded.bearers.push(token)
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    if (token === null || !valid.has(token))
      return json(response, {}, 401, { 'www-authenticate': `Bearer scope="read", ${metadata}` })
    const { id, method } = JSON.parse(body) as { id?: number; method: string }
    if (method === 'tools/call' && rules.needed !== null && !scopes.get(token)?.includes(rules.needed))
      return json(response, {}, 403, {
        'www-authenticate': `Bearer error="insufficient_scope", scope="${rules.needed}", ${metadata}`,
      })
    const results: Record<string, object> = {
      initialize: INITIALIZED,
      'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: `you are ${token}` }] },
    }
    if (id === undefined) return void response.writeHead(202).end()
    const result = results[method]
    return json(
      response,
      result === undefined
        ? { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } }
        : { jsonrpc: '2.0', id, result },
    )
  })
  guarded.url = `${origin}/mcp`
  return guarded
}

export const PUBLIC_URL = 'https://cairn.example.org'
export const ann = { org_id: 'org', id: 'ann', admin: false }
export const bob = { org_id: 'org', id: 'bob', admin: false }
export const ownerOf = ({ org_id, id }: typeof ann) => ({ org_id, user_id: id })

type OAuthInput = Record<string, unknown>
export type Accounts = ReturnType<typeof memoryAccounts>
export type Service = {
  logins: McpLogins
  mcp: McpServers
  logged: string[]
  store: Accounts
  learned: string[]
}

export const newSealing = (): Sealing => createSealing({ file: '', key: randomBytes(32).toString('base64') })

/** One process of a service with this server as `x`; several may share a store. */
export function startService(
  guarded: Pick<Guarded, 'url' | 'issuer'>,
  {
    oauth = {},
    store = memoryAccounts(),
    sealing = newSealing(),
    clock = systemClock,
    env = {},
  }: {
    oauth?: OAuthInput
    store?: Accounts
    sealing?: Sealing
    clock?: Clock
    env?: Record<string, string>
  } = {},
): Service {
  const input: ConfigInput['mcp_servers'] = {
    x: { url: guarded.url, auth: { oauth: { internal: [new URL(guarded.issuer).host], ...oauth } } },
  }
  const { mcp_servers: servers } = Config.parse({ mcp_servers: input })
  const learned: string[] = []
  const logins = createMcpLogins({
    servers,
    env,
    store,
    sealing,
    publicUrl: () => PUBLIC_URL,
    learnSecrets: secrets => void learned.push(...secrets),
    clock,
  })
  const logged: string[] = []
  const mcp = startMcpServers({
    servers,
    env,
    boxes: () => Promise.reject(new Error('no server of these tests asks for a box')),
    logins,
    logger: (level, message, fields) => logged.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
    clock,
  })
  onTestFinished(() => mcp.stop())
  return { logins, mcp, logged, store, learned }
}

/** The callback to which the authorization server sends the person's browser. */
export async function authorize(logins: McpLogins, person: typeof ann): Promise<URLSearchParams> {
  const { authorization_url } = await logins.begin('x', person)
  const response = await fetch(authorization_url, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '').searchParams
}

export async function logIn({ logins }: Pick<Service, 'logins'>, person: typeof ann): Promise<void> {
  await logins.complete(await authorize(logins, person), person)
}
