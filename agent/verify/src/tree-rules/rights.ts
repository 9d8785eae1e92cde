/**
 * A child has at most the rights of every session above it (contract 10): it ran no tool that one of their
 * agents forbids, none without an approval that one of them requires, and read no page that one of them may
 * not reach. Part of `checkTree` when the configuration is given.
 */
import type { AgentConfig, SessionEvent } from '@cairn/protocol'
import { BLOCK_TOOL } from '@cairn/state'

/** The root's agent, and the configured agents. */
export type TreeRights = {
  agent: string
  agents: Readonly<Record<string, Pick<AgentConfig, 'tools' | 'governance' | 'workers'>>>
}
/** A session followed by its ancestors: the agent of each, and the tools that its creator allowed. */
export type Chain = readonly { agent: string; tools?: readonly string[] }[]

/** Tools that a worker always has, whatever its list of allowed tools. */
const ALWAYS = ['worker_complete', BLOCK_TOOL, 'share_note', 'read_board']
const ASKS = ['ask_user_question', 'request_user_action']

export function checkRights(
  id: string,
  log: readonly SessionEvent[],
  chain: Chain,
  { agents }: Pick<TreeRights, 'agents'>,
): string[] {
  const found: string[] = []
  const urls = new Map<string, unknown>()
  const approved = new Set<string>()
  for (const event of log) {
    if (event.type === 'tool.call') urls.set(event.data.tool_call_id, event.data.arguments['url'])
    if (event.type === 'policy.allowed' && 'tool_name' in event.data)
      approved.add(String(event.data.tool_call_id))
    // An elapsed time of 0 means that the tool did not run.
    if (event.type !== 'tool.result' || event.data.elapsed_ms === 0) continue
    const { name, tool_call_id } = event.data
    const say = (why: string): void => void found.push(`${id}: event ${event.id}: ${name} ran, and ${why}`)
    for (const [above, { agent, tools }] of chain.entries()) {
      const rules = agents[agent]
      if (rules === undefined) continue
      const { governance } = rules
      const lists = [rules.tools, governance.allowed_tools.length > 0 ? governance.allowed_tools : undefined]
      if (names(governance.denied_tools, name)) say(`${agent} forbids it`)
      if (above > 0 && !rules.workers.may_ask && ASKS.includes(name))
        say(`the workers of ${agent} may not ask`)
      for (const list of [...lists, tools])
        if (list !== undefined && !ALWAYS.includes(name) && !names(list, name))
          say(`it is not among the tools of ${agent}`)
      if (names(governance.require_approval, name) && !approved.has(tool_call_id))
        say(`${agent} needs an approval for it`)
      const url = urls.get(tool_call_id)
      if (typeof url === 'string' && !reaches(governance.egress, url)) say(`${agent} may not reach ${url}`)
    }
  }
  return found
}

const names = (patterns: readonly string[], tool: string): boolean =>
  patterns.some(pattern => (pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool))

type Egress = AgentConfig['governance']['egress']
function reaches({ default: otherwise, allow, deny }: Egress, url: string): boolean {
  if (!URL.canParse(url)) return true
  const host = new URL(url).hostname
  const isNamed = (given: string): boolean => {
    const pattern = given.trim().toLowerCase()
    return pattern === '*' || (pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern)
  }
  return !deny.some(isNamed) && (otherwise === 'allow' || allow.some(isNamed))
}
