/** What the tests of tools share: a fresh workspace and a context for a tool that is run by itself. */
import { GovernanceConfig } from '@cairn/protocol'
import { makeFolder } from '@cairn/sandbox/test/make-folder'
import type { Tool, ToolContext, ToolOutcome } from '../../src/tools/tool.ts'

export { makeFolder }

export const makeContext = (change: Partial<ToolContext> = {}): ToolContext => ({
  session_id: 's1',
  tool_call_id: 'call_1',
  turn_id: 't1',
  workspace: makeFolder('ws'),
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  egress: GovernanceConfig.parse({}).egress,
  ...change,
})

/** Runs a tool as callTool does, arguments parsed by its schema. */
export const runParsed = (
  tool: Tool,
  args: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolOutcome> => tool.run(tool.parameters.parse(args), context)
