/** What the compatible APIs need of the service. */
import type { Config, Principal } from '@cairn/protocol'
import { DEFAULT_AGENT, type Deps } from '@cairn/sessions'

export type CompatDeps = Deps & {
  config: Pick<Config, 'agents' | 'governance' | 'disclosure' | 'compat' | 'auth' | 'public_url'>
  /** Version of the service. */
  version: string
}

/** The caller, and the kind of its credential. */
export type Caller = { principal: Principal; by: 'token' | 'cookie' | 'service_account' }

/** A request of an identified caller. */
export type CompatRequest = {
  method: string
  path: string
  query: URLSearchParams
  headers: Headers
  raw: Uint8Array
  signal: AbortSignal
  requestId: string
  caller: Caller | null
}

/** A request whose caller is known: all but OPTIONS, and those of public routes. */
export type CallerRequest = CompatRequest & { caller: Caller }

export const agentNames = ({ config }: Pick<CompatDeps, 'config'>): string[] => [
  ...new Set([DEFAULT_AGENT, ...Object.keys(config.agents)]),
]
