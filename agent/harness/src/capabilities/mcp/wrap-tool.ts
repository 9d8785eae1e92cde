/** Wraps the tools of an MCP server as tools of the agent. */
import { clip, type McpServerConfig, findPattern } from '@cairn/protocol'
import { z } from 'zod'
import type { Logger } from '@cairn/models/logger'
import type { Tool, ToolContext, ToolOutcome } from '../../tools/tool.ts'
import { admitTools, type DefinedTool } from './definition.ts'
import type { ToolList } from './list-tools.ts'
import type { ListedTool } from './listed-tool.ts'
import { mcpToolName, isNameOfServer } from './tool-name.ts'

const MAX_DESCRIPTION = 4000

/** What a call needs of its context. */
export type CallContext = Pick<ToolContext, 'signal' | 'timeoutMs' | 'workspace' | 'tool_call_id' | 'ask'>

/** How a wrapped tool reaches its server. */
export type ServerCalls = {
  call(tool: DefinedTool, args: Record<string, unknown>, context: CallContext): Promise<ToolOutcome>
  /** Lists the tools again; rejects if the server's definition has changed. */
  confirm(tool: DefinedTool): Promise<void>
}
type Server = { name: string; config: McpServerConfig; named: readonly string[]; logger: Logger }

export type WrappedTools = {
  tools: Tool[]
  /** Why a tool of the server is not offered, by the name that the model would see. */
  leftOut: ReadonlyMap<string, string>
}

/** Each name once; rejected tools, and configured names without a tool, are logged. */
export function wrapTools(
  { name: server, config, named, logger }: Server,
  { tools: listed, problems: cut, mirrorsArguments }: ToolList,
  calls: ServerCalls,
): WrappedTools {
  const { admitted, rejected, problems } = admitTools(server, config, listed, mirrorsArguments)
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
  return {
    tools: [...tools.values()],
    leftOut: new Map(
      rejected.map(({ name, why }) => [
        mcpToolName(server, name),
        `the tool ${JSON.stringify(name.slice(0, 100))} of MCP server '${server}' is left out because it ${why}`,
      ]),
    ),
  }
}

function wrapTool(server: string, config: McpServerConfig, defined: DefinedTool, calls: ServerCalls): Tool {
  const { tool, hash, input } = defined
  // A server's hints about itself are not trusted; only the operator can declare a tool read-only.
  const name = mcpToolName(server, tool.name)
  const readOnly = config.read_only.includes(tool.name)
  // A server may send an empty description, which some model servers refuse.
  const described = [tool.description, tool.title].find(text => text !== undefined && text.trim() !== '')
  return {
    name,
    description: clip((described ?? tool.name) || name, MAX_DESCRIPTION),
    parameters: z.record(z.string(), z.unknown()),
    jsonSchema: input.schema,
    readOnly,
    idempotent: readOnly,
    definition: { hash, confirm: () => calls.confirm(defined) },
    run: (args, context) => calls.call(defined, input.toServer(args), context),
  }
}

/**
 * Names in the configuration's lists that a running server does not have. `named` contains the names and
 * patterns of all lists; those of other servers are ignored.
 */
function unmatchedNames(
  server: string,
  { read_only }: McpServerConfig,
  tools: readonly ListedTool[],
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
