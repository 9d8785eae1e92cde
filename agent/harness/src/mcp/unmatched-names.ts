import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'
import { findPattern, type McpServerConfig } from '@cairn/protocol'
import { isNameOfServer, mcpToolName } from './tool-name.ts'

/**
 * What the configuration says of tools that a server does not have: only the running server can tell. `named`
 * holds the names and patterns of all lists; those of other servers are ignored.
 */
export function unmatchedNames(
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
