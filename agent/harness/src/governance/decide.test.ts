import { findPattern, GovernanceConfig } from '@cairn/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type GateInput, decideGate, isOffered } from './decide.ts'

const policyOf = (
  policy: Partial<{ allowed_tools: string[]; denied_tools: string[]; require_approval: string[] }> = {},
) => GovernanceConfig.parse(policy)
const ask = (change: Partial<GateInput> = {}): GateInput => ({
  policy: policyOf(),
  agentTools: undefined,
  tool: 'terminal',
  pathProblem: null,
  urlProblem: null,
  hasGrant: false,
  ...change,
})

test('allows a call when no rule forbids it', () => {
  expect(decideGate(ask())).toEqual({ allow: true })
})

test.each([
  ['denied_tools:terminal', ask({ policy: policyOf({ denied_tools: ['terminal'] }) })],
  [
    'denied_tools:term*',
    ask({ policy: policyOf({ denied_tools: ['term*'], require_approval: ['terminal'] }), hasGrant: true }),
  ],
  ['agent_tools', ask({ agentTools: ['read_file'] })],
  ['allowed_tools', ask({ policy: policyOf({ allowed_tools: ['read_file', 'mcp__git__*'] }) })],
  ['workspace_containment', ask({ pathProblem: 'it is outside' })],
  ['egress', ask({ urlProblem: 'not that host' })],
])('denies finally and names the rule: %s', (policy_id, input) => {
  expect(decideGate(input)).toMatchObject({ allow: false, overridable: false, policy_id })
})

test('a tool that needs approval is denied overridably, and allowed with a grant', () => {
  const policy = policyOf({ require_approval: ['terminal'] })
  expect(decideGate(ask({ policy }))).toEqual({
    allow: false,
    overridable: true,
    reason: "tool 'terminal' requires human approval",
    policy_id: 'require_approval:terminal',
  })
  expect(decideGate(ask({ policy, hasGrant: true }))).toEqual({ allow: true, via: 'grant' })
})

test('a grant is not spent on a call that needs none', () => {
  expect(decideGate(ask({ hasGrant: true }))).toEqual({ allow: true })
})

test('a star matches any ending at the end of a name, and nothing elsewhere', () => {
  expect(findPattern(['mcp__github__*'], 'mcp__github__create_issue')).toBe('mcp__github__*')
  expect(findPattern(['mcp__github__*'], 'mcp__gitlab__create_issue')).toBeUndefined()
  expect(findPattern(['*_file'], 'read_file')).toBeUndefined()
})

test('tools that can never be allowed are not offered to the model, and tools that need approval are', () => {
  const rules = {
    policy: policyOf({ denied_tools: ['web_fetch'], require_approval: ['terminal'] }),
    agentTools: undefined,
  }
  expect(['web_fetch', 'terminal', 'read_file'].filter(tool => isOffered(tool, rules))).toEqual([
    'terminal',
    'read_file',
  ])
})

const tool = fc.constantFrom('terminal', 'read_file', 'write_file', 'mcp__git__push', 'mcp__git__pull')
const patterns = fc.array(fc.oneof(tool, fc.constantFrom('mcp__*', 'mcp__git__*', '*', 'write*')), {
  maxLength: 3,
})
const problem = fc.option(fc.constant('a problem'), { nil: null })
const anyInput: fc.Arbitrary<GateInput> = fc.record({
  policy: fc
    .record({ allowed_tools: patterns, denied_tools: patterns, require_approval: patterns })
    .map(lists => GovernanceConfig.parse(lists)),
  agentTools: fc.option(patterns, { nil: undefined }),
  tool,
  pathProblem: problem,
  urlProblem: problem,
  hasGrant: fc.boolean(),
})
const withoutApproval = (input: GateInput): GateInput => ({
  ...input,
  policy: { ...input.policy, require_approval: [] },
  hasGrant: false,
})

/** Promise 10.4: An approval removes only the need for approval, and all other checks still apply. */
test('an approved call is denied where the same call without the approval rule would be', () => {
  fc.assert(
    fc.property(anyInput, input => {
      const ungated = decideGate(withoutApproval(input))
      expect(decideGate({ ...input, hasGrant: true }).allow).toBe(ungated.allow)
    }),
    { numRuns: 2000 },
  )
})

test('a denial is overridable exactly when only approval is missing', () => {
  fc.assert(
    fc.property(anyInput, input => {
      const decision = decideGate({ ...input, hasGrant: false })
      const overridable = !decision.allow && decision.overridable
      expect(overridable).toBe(
        decideGate(withoutApproval(input)).allow &&
          findPattern(input.policy.require_approval, input.tool) !== undefined,
      )
    }),
    { numRuns: 2000 },
  )
})
