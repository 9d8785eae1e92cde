/** Wraps the tools of an MCP server as tools of the agent. */
import { type McpServerConfig, findPattern } from '@cairn/protocol'
import { z } from 'zod'
import type { Logger } from '@cairn/models/logger'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tool.ts'
import { admitTools, type DefinedTool } from './definition.ts'
import type { ToolList } from './list-tools.ts'
import { mcpToolName, isNameOfServer } from './tool-name.ts'
import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'

const MAX_DESCRIPTION = 4000

/** How a wrapped tool reaches its server. */
export type ServerCalls = {
  call(
    tool: DefinedTool,
    args: Record<string, unknown>,
    limits: Pick<ToolContext, 'signal' | 'timeoutMs'>,
  ): Promise<ToolOutcome>
  /** Lists the tools again; rejects if the server's definition has changed. */
  confirm(tool: DefinedTool): Promise<void>
}
type Server = { name: string; config: McpServerConfig; named: readonly string[]; logger: Logger }

/** Each name once; rejected tools, and configured names without a tool, are logged. */
export function wrapTools(
  { name: server, config, named, logger }: Server,
  { tools: listed, problems: cut }: ToolList,
  calls: ServerCalls,
): Tool[] {
  const { admitted, problems } = admitTools(server, config, listed)
  const tools = new Map<string, Tool>()
  for (const defined of admitted) {
    const tool = wrapTool(server, config, defined, calls)
    if (tools.has(tool.name)) problems.push(`two of its tools would be named ${tool.name}; the first is used`)
    else tools.set(tool.name, tool)
  }
  for (const problem of [...cut, ...problems])
    logger('warn', `the list of tools of MCP server ${server} was cut: ${problem}`)
  const unmatched = unmatchedNames(server, config, listed, named)
  if (unmatched.length > 0)
    logger('warn', `the configuration names tools that MCP server ${server} does not have`, {
      names: unmatched,
      tools: [...tools.keys()].slice(0, 50),
    })
  return [...tools.values()]
}

function wrapTool(server: string, config: McpServerConfig, defined: DefinedTool, calls: ServerCalls): Tool {
  const { tool, hash } = defined
  // A server's hints about itself are not trusted; only the operator can declare a tool read-only.
  const readOnly = config.read_only.includes(tool.name)
  const description = (tool.description ?? tool.title ?? tool.name).slice(0, MAX_DESCRIPTION)
  return {
    name: mcpToolName(server, tool.name),
    description,
    parameters: z.record(z.string(), z.unknown()),
    jsonSchema: tool.inputSchema,
    readOnly,
    idempotent: readOnly,
    definition: { hash, confirm: () => calls.confirm(defined) },
    run: (args, limits) => calls.call(defined, args, limits),
  }
}

/**
 * Names in the configuration's lists that a running server does not have. `named` contains the names and
 * patterns of all lists; those of other servers are ignored.
 */
function unmatchedNames(
  server: string,
  { read_only }: McpServerConfig,
  tools: readonly McpTool[],
  named: readonly string[],
): string[] {
  const names = tools.map(tool => mcpToolName(server, tool.name))
  return [
    ...named.filter(
      pattern =>
        isNameOfServer(pattern, server) && !names.some(name => findPattern([pattern], name) !== undefined),
    ),
    ...read_only
      .filter(name => !tools.some(tool => tool.name === name))
      .map(name => `mcp_servers.${server}.read_only: ${name}`),
  ]
}
