/**
 * The fetch for authorization servers. The MCP server names their addresses, so they are judged like any
 * address that the service did not choose: public, over https, and no redirect is followed.
 */
import { GovernanceConfig, limitResponse } from '@cairn/protocol'
import { limitRefusals } from '@cairn/models'
import { guardedFetch } from '@cairn/sandbox/guarded-fetch'
import { hostOf, isInternalHost, isNamedInternal, portOf } from '@cairn/sandbox/egress'
import type { FetchLike } from '@modelcontextprotocol/client'

const MAX_ANSWER_BYTES = 1024 * 1024
const TIMEOUT_MS = 15_000

/** `internal`: hosts and addresses that the operator allows besides public ones, with or without a port. */
export function oauthFetch(serverUrl: string, internal: readonly string[]): FetchLike {
  const server = new URL(serverUrl)
  const egress = GovernanceConfig.parse({ egress: { internal: [...internal, ...ownAddress(server)] } }).egress
  const send = guardedFetch(egress)
  const bounded = limitRefusals(async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input))
    const problem = insecure(url, server, egress)
    if (problem !== null) throw new TypeError(problem)
    const { method, headers, body, signal } = init ?? {}
    const response = await send(url.href, {
      method: method ?? 'GET',
      // A redirect would carry a code or a secret to an address that was not judged.
      redirect: 'error',
      ...(headers === undefined ? {} : { headers: Object.fromEntries(new Headers(headers)) }),
      // The SDK sends forms; undici's own fetch does not know the class of this one.
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    })
    // undici's class of responses has the same members.
    return limitResponse(response as unknown as Response, MAX_ANSWER_BYTES)
  })
  return (url, init) => bounded(url, init)
}

/** The address of the configured server itself, with its port, if it is not a public one. */
function ownAddress(server: URL): string[] {
  const host = hostOf(server)
  if (!isInternalHost(host)) return []
  const isAddress = /^[\d.]+$/.test(host) || host.includes(':')
  return isAddress ? [`${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`] : [host]
}

function insecure(url: URL, server: URL, egress: GovernanceConfig['egress']): string | null {
  if (url.protocol === 'https:' || url.origin === server.origin) return null
  if (url.protocol === 'http:' && isNamedInternal(hostOf(url), egress, portOf(url))) return null
  return `${url.origin} is neither https nor a host in auth.oauth.internal of the MCP server`
}
