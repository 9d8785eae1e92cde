/** A tool of an MCP server as one of the agent's. */
import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'
import type { McpServerConfig } from '@cairn/protocol'
import { z } from 'zod'
import type { Tool, ToolContext, ToolOutcome } from '../tools/tool.ts'
import { mcpToolName } from './tool-name.ts'

const MAX_DESCRIPTION = 4000

export type CallTool = (
  tool: string,
  args: Record<string, unknown>,
  limits: Pick<ToolContext, 'signal' | 'timeoutMs'>,
) => Promise<ToolOutcome>

export function wrapTool(server: string, config: McpServerConfig, tool: McpTool, call: CallTool): Tool {
  // Hints of a server about itself are not trusted; only the operator's word makes a tool read-only.
  const readOnly = config.read_only.includes(tool.name)
  return {
    name: mcpToolName(server, tool.name),
    description: (tool.description ?? tool.title ?? tool.name).slice(0, MAX_DESCRIPTION),
    parameters: z.record(z.string(), z.unknown()),
    jsonSchema: tool.inputSchema,
    readOnly,
    idempotent: readOnly,
    run: (args, limits) => call(tool.name, args, limits),
  }
}
