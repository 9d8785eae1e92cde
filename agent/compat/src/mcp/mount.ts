/** Cairn as an MCP server, at `/compat/mcp`, and the document by which a client finds its login. */
import { AppError } from '@cairn/protocol'
import type { CallerRequest, CompatDeps } from '../deps.ts'
import type { McpRequest } from './request.ts'
import { mcpError } from './rpc-errors.ts'

export const MCP = '/compat/mcp'
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource'

type Config = CompatDeps['config']

/** Handles the requests of identified callers. The first one loads the SDK. */
export function handleMcp(deps: CompatDeps) {
  let opened: Promise<(request: McpRequest) => Promise<Response>> | null = null
  return async (_: CompatDeps, { caller, path, ...request }: CallerRequest): Promise<Response> => {
    if (path !== MCP && path !== `${MCP}/`)
      throw new AppError('not_found', `Unknown path ${path.slice(0, 200)}: the server is at ${MCP}.`)
    if (caller.by === 'cookie')
      throw new AppError('unauthenticated', 'Send a token: this API does not use the login of the web UI.')
    opened ??= import('./endpoint.ts').then(({ openEndpoint }) => openEndpoint(deps))
    return (await opened)({ ...request, principal: caller.principal })
  }
}

const metadataUrl = (base: string): string => `${base}${RESOURCE_METADATA}${MCP}`

/** A client without a token finds the authorization server in the document that the header names. */
export const mcpErrorFor =
  ({ auth, public_url }: Config) =>
  (error: AppError, requestId: string): Response =>
    mcpError(
      error,
      requestId,
      error.status !== 401
        ? {}
        : {
            'www-authenticate':
              auth.issuer === undefined || public_url === undefined
                ? 'Bearer'
                : `Bearer resource_metadata="${metadataUrl(base(public_url))}"`,
          },
    )

const base = (url: string): string => url.replace(/\/$/, '')

/** RFC 9728, for the MCP server: at the root, and at the path of the resource. */
export function resourceMetadata({ auth, public_url }: Config, path: string): Response {
  if (auth.issuer === undefined || public_url === undefined)
    throw new AppError(
      'not_found',
      'This service has no authorization server: auth.issuer and public_url are not set.',
    )
  if (path !== RESOURCE_METADATA && path !== `${RESOURCE_METADATA}${MCP}`)
    throw new AppError('not_found', `Unknown resource ${path.slice(0, 200)}.`)
  return Response.json(
    {
      resource: `${base(public_url)}${MCP}`,
      authorization_servers: [auth.issuer],
      bearer_methods_supported: ['header'],
      resource_name: 'Cairn',
    },
    { headers: { 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' } },
  )
}
