/** fetch for URLs given over the API: connects only to what egress allows, using the judged addresses. */
import { isIP } from 'node:net'
import type { GovernanceConfig } from '@cairn/protocol'
import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici'
import { mayReach, portOf, urlProblem } from './egress.ts'
import { guardedLookup, RefusedAddress, type ResolveHost, resolveBySystem } from './guarded-lookup.ts'

export type { ResolveHost }
type Egress = GovernanceConfig['egress']

/** Rejects with TypeError, like fetch on a network error. The caller must refuse redirects. */
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

/** For a client with its own fetch: connects only to what egress allows, and never times out by itself. */
export const guardedDispatcher = (egress: Egress, resolveHost: ResolveHost = resolveBySystem): Agent =>
  new Agent({
    connect: guardedConnector(egress, resolveHost),
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })

/**
 * Judges every connection, including redirects. An address instead of a name needs no lookup: it is judged
 * here.
 */
function guardedConnector(egress: Egress, resolveHost: ResolveHost): buildConnector.connector {
  const connect = buildConnector({ lookup: guardedLookup(egress, resolveHost), timeout: 10_000 })
  return (options, done) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) === 0 || mayReach(host, host, egress, portOf(options))) return connect(options, done)
    done(new RefusedAddress(`${host} is not a public address`), null)
  }
}
