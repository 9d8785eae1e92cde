/** The addresses that providers and MCP servers of the editor may have, and the fetch that enforces it. */
import { createPlainFetch, type Fetch } from '@cairn/models'
import type { Config, GovernanceConfig } from '@cairn/protocol'
import { hostOf, isNamedInternal, portOf, urlProblem } from '@cairn/sandbox/egress'
import { guardedDispatcher } from '@cairn/sandbox/guarded-fetch'

export const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'] as const

export type Reach = {
  /** Why a provider or MCP server may not have this address; null: it may. */
  urlProblem(url: string): string | null
  fetch: Fetch
  close(): Promise<void>
}

/**
 * `isLocal`: the service itself listens on this machine only. A client of it can also reach a model server
 * on this machine, so those addresses need no entry in cairn.yaml.
 */
export function createReach({ editing }: Config, isLocal: boolean): Reach {
  const { deny, internal } = editing.policy.egress
  const egress: GovernanceConfig['egress'] = {
    default: 'allow',
    allow: [],
    deny,
    internal: [...internal, ...(isLocal ? LOOPBACK : [])],
  }
  const dispatcher = guardedDispatcher(egress)
  const plain = createPlainFetch(dispatcher)
  const problemOf = (text: string): string | null => {
    const problem = urlProblem(text, egress)
    if (problem !== null) return problem.replaceAll('egress.internal', 'editing.policy.egress.internal')
    const url = new URL(text)
    return url.protocol === 'https:' || isNamedInternal(hostOf(url), egress, portOf(url))
      ? null
      : 'must be an https URL, or the URL of a host in editing.policy.egress.internal of cairn.yaml'
  }
  return {
    urlProblem: problemOf,
    async fetch(input, init) {
      // An address is judged when it connects; a name on a deny list, or this machine by name, here.
      const problem = urlProblem(input instanceof Request ? input.url : String(input), egress)
      if (problem !== null) throw new TypeError(problem)
      return plain(input, init)
    },
    close: () => dispatcher.destroy(),
  }
}
