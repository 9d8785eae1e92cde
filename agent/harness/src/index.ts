/**
 * The runner of sessions.
 *
 * harness   claims sessions with work and runs their turns
 * wake      a runner took the lease and started
 * reminder  a message to the model for one call, which is not logged
 * lease     the temporary right to act for one session
 * step      the next action of a turn, decided from the folded log
 * gate      the checks that every tool call must pass
 */
export { agentNames, setUpAgent, type AgentSetup } from './governance/agent.ts'
export { narrowAgent } from './governance/narrow.ts'
export { startHarness, type Harness, type HarnessOptions } from './runner/runner.ts'
export { describeMcpSandbox, mcpSandboxes } from './capabilities/mcp/sandboxed.ts'
export { type McpServers, startMcpServers } from './capabilities/mcp/servers.ts'
export { createMcpLogins, type McpLogins } from './capabilities/mcp/oauth/logins.ts'
export { removeRetired, type RemoveRetired } from './tools/remove-retired.ts'
export { findBrowser, startBrowsers, type StartedBrowsers } from './capabilities/browser/start.ts'
export { readSkills, rereadSkills, type Skill, withSkills } from './capabilities/skills/catalogue.ts'
export { builtinDefinitions, builtinTools } from './tools/catalogue.ts'
export { toolJsonSchema } from './tools/parameters.ts'
export type { SessionScope } from './runner-deps.ts'
export { createQuota } from './tools/workspace-quota.ts'
export type { Tool } from './tools/tool.ts'
export { sandboxedAgents, findCodingAgents, installedAt } from './capabilities/code/sandboxed-agents.ts'
export { KNOWN_AGENTS } from './capabilities/code/known-agents.ts'
export { homesIn, sweepHomes } from './capabilities/code/sweep-homes.ts'
