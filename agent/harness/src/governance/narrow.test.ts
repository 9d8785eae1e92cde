import { AgentConfig } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decideGate } from './decide.ts'
import { urlProblem } from '@cairn/sandbox/egress'
import { narrowAgent } from './narrow.ts'

const TOOLS = ['read_file', 'read_page', 'write_file', 'terminal', 'worker_complete']
const HOSTS = ['example.org', 'a.example.org', 'b.a.example.org', 'example.com', '10.0.0.1']
const tools = fc.subarray([...TOOLS, 'read*', 'read_f*', '*', 'w*'])
const hosts = fc.subarray([...HOSTS, '*.example.org', '*.a.example.org', '*'])
const agents = fc
  .record({
    tools: fc.option(tools, { nil: undefined }),
    allowed_tools: tools,
    denied_tools: tools,
    require_approval: tools,
    allow: hosts,
    deny: hosts,
    internal: fc.subarray(['10.0.0.1', 'example.com']),
    egress: fc.constantFrom('allow' as const, 'deny' as const),
  })
  .map(({ tools: own, allowed_tools, denied_tools, require_approval, allow, deny, internal, egress }) =>
    AgentConfig.parse({
      ...(own === undefined ? {} : { tools: own }),
      governance: {
        allowed_tools,
        denied_tools,
        require_approval,
        egress: { default: egress, allow, deny, internal },
      },
    }),
  )

/** 2: without asking; 1: with approval; 0: never. */
function right(agent: AgentConfig, tool: string): number {
  const decision = decideGate({
    policy: agent.governance,
    agentTools: agent.tools,
    tool,
    pathProblem: null,
    urlProblem: null,
    hasGrant: false,
  })
  return decision.allow ? 2 : decision.overridable ? 1 : 0
}
const reaches = (agent: AgentConfig, host: string): boolean =>
  urlProblem(`http://${host}/`, agent.governance.egress) === null

/** Promise 14.4: A worker never has more permissions than the agents above it. */
test('property: a narrowed agent may only do what both it and the agent above it may do', () => {
  fc.assert(
    fc.property(agents, agents, (own, above) => {
      const narrowed = narrowAgent(own, above)
      for (const tool of TOOLS)
        expect([tool, right(narrowed, tool)]).toEqual([tool, Math.min(right(own, tool), right(above, tool))])
      for (const host of HOSTS)
        if (reaches(narrowed, host))
          expect([host, reaches(own, host), reaches(above, host)]).toEqual([host, true, true])
    }),
  )
})
