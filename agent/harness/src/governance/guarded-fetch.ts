/** fetch for URLs that somebody gave over the API: only to what egress allows, by the addresses judged. */
import type { GovernanceConfig } from '@cairn/protocol'
import { Agent, fetch, type RequestInit, type Response } from 'undici'
import { urlProblem } from './egress.ts'
import { guardedLookup, resolveBySystem } from './guarded-lookup.ts'

/** Rejects with TypeError, as fetch does for a network that refuses. Redirects are the caller's to refuse. */
export function guardedFetch(
  egress: GovernanceConfig['egress'],
): (
  url: string,
  init: Pick<RequestInit, 'method' | 'redirect' | 'headers' | 'body' | 'signal'>,
) => Promise<Response> {
  const lookup = guardedLookup(egress, resolveBySystem)
  const dispatcher = new Agent({ connect: { lookup, timeout: 10_000 } })
  return async (url, init) => {
    const problem = urlProblem(url, egress)
    if (problem !== null) throw new TypeError(problem)
    return fetch(url, { ...init, dispatcher })
  }
}
