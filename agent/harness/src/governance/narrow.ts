/**
 * An agent as a worker of others: it may do what it and every ancestor agent may do (contract 10).
 * Allow-lists are intersected, deny and approval lists united, and egress is the stricter of the two.
 */
import type { AgentConfig, GovernanceConfig } from '@cairn/protocol'

type Rules = Pick<AgentConfig, 'tools' | 'governance'>
type Egress = GovernanceConfig['egress']

/** Whether `a` covers every name that `b` covers: whole names, or prefixes followed by `*`. */
const coversTool = (a: string, b: string): boolean =>
  a.endsWith('*') ? b.replace(/\*$/, '').startsWith(a.slice(0, -1)) : a === b

/** Hosts: whole names, `*.example.org` for subdomains, `*` for all. */
const coversHost = (given: string, other: string): boolean => {
  const [a, b] = [given.trim().toLowerCase(), other.trim().toLowerCase()]
  return (
    a === '*' || a === b || (a.startsWith('*.') && b.replace(/^\*/, '').endsWith(a.slice(1)) && b !== '*')
  )
}

function intersect(a: readonly string[], b: readonly string[], covers: typeof coversTool): string[] {
  const both = [
    ...a.filter(pattern => b.some(other => covers(other, pattern))),
    ...b.filter(pattern => a.some(other => covers(other, pattern))),
  ]
  return [...new Set(both)]
}
const unite = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])]

/** Undefined: all tools. An empty allow-list in a policy means the same. */
const listsOf = ({ tools, governance: { allowed_tools } }: Rules): readonly (readonly string[])[] => [
  ...(tools === undefined ? [] : [tools]),
  ...(allowed_tools.length === 0 ? [] : [allowed_tools]),
]

export function narrowAgent<A extends Rules>(agent: A, above: Rules): A {
  const { governance } = agent
  const lists = listsOf(above)
  const tools = lists.reduce<readonly string[] | undefined>(
    (kept, list) => (kept === undefined ? list : intersect(kept, list, coversTool)),
    agent.tools,
  )
  return {
    ...agent,
    ...(tools === undefined ? {} : { tools: [...tools] }),
    governance: {
      ...governance,
      denied_tools: unite(governance.denied_tools, above.governance.denied_tools),
      require_approval: unite(governance.require_approval, above.governance.require_approval),
      egress: narrowEgress(governance.egress, above.governance.egress),
    },
  }
}

function narrowEgress(own: Egress, above: Egress): Egress {
  const allow =
    own.default === 'allow'
      ? above.allow
      : above.default === 'allow'
        ? own.allow
        : intersect(own.allow, above.allow, coversHost)
  return {
    default: own.default === 'deny' || above.default === 'deny' ? 'deny' : 'allow',
    allow: [...allow],
    deny: unite(own.deny, above.deny),
    internal: own.internal.filter(entry => above.internal.includes(entry)),
  }
}
