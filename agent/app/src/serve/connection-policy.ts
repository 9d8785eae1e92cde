/**
 * Policy for connections that administrators create: how their secrets are sealed and which addresses they
 * may call.
 */
import { join } from 'node:path'
import { hostOf, isNamedInternal, portOf, urlProblem } from '@cairn/sandbox/egress'
import { guardedFetch } from '@cairn/sandbox/guarded-fetch'
import { AgentConfig, type Config, type GovernanceConfig } from '@cairn/protocol'
import { createSealing, DEFAULT_AGENT, type Sealing } from '@cairn/sessions'

export type ConnectionPolicy = {
  sealing: Sealing
  /** `agents`: those of the organisation, as are those of `guardedFetch`. */
  urlProblem: (url: string, agent: string | undefined, agents: Agents) => string | null
  guardedFetch: (agent: string, agents: Agents) => ReturnType<typeof guardedFetch>
}
type Agents = Config['agents']

/** Throws if CAIRN_SECRETS_KEY is not a valid key. */
export function connectionPolicy(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
): ConnectionPolicy {
  const egressOf = (agents: Agents, agent = DEFAULT_AGENT): GovernanceConfig['egress'] =>
    (agents[agent] ?? AgentConfig.parse({})).governance.egress
  return {
    sealing: createSealing({ file: join(dataDir, 'secrets.key'), key: env['CAIRN_SECRETS_KEY'] }),
    guardedFetch: (agent, agents) => guardedFetch(egressOf(agents, agent)),
    urlProblem(url, agent, agents) {
      const egress = egressOf(agents, agent)
      const parsed = new URL(url)
      if (parsed.protocol !== 'https:' && !isNamedInternal(hostOf(parsed), egress, portOf(parsed)))
        return 'must be an https URL, or the URL of a host in egress.internal'
      return urlProblem(url, egress)
    },
  }
}
