/** fetch for URLs that somebody gave over the API: only to what egress allows, by the addresses judged. */
import { isIP } from 'node:net'
import type { GovernanceConfig } from '@cairn/protocol'
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici'
import { mayReach, portOf, urlProblem } from './egress.ts'
import { guardedLookup, RefusedAddress, type ResolveHost, resolveBySystem } from './guarded-lookup.ts'

export type { ResolveHost }
type Egress = GovernanceConfig['egress']

/** Rejects with TypeError, as fetch does for a network that refuses. Redirects are the caller's to refuse. */
export function guardedFetch(
  egress: Egress,
  resolveHost: ResolveHost = resolveBySystem,
): (
  url: string,
  init: Pick<RequestInit, 'method' | 'redirect' | 'headers' | 'body' | 'signal'>,
) => Promise<Response> {
  const dispatcher = new Agent({ connect: guardedConnector(egress, resolveHost) })
  return async (url, init) => {
    const problem = urlProblem(url, egress)
    if (problem !== null) throw new TypeError(problem)
    return fetch(url, { ...init, dispatcher })
  }
}

/** Every connection, of a redirect too. An address in place of a name is never looked up: it is judged here. */
function guardedConnector(egress: Egress, resolveHost: ResolveHost): buildConnector.connector {
  const connect = buildConnector({ lookup: guardedLookup(egress, resolveHost), timeout: 10_000 })
  return (options, done) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) === 0 || mayReach(host, host, egress, portOf(options))) return connect(options, done)
    done(new RefusedAddress(`${host} is not a public address`), null)
  }
}
