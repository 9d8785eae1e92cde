import type { Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'
import { findPattern, type McpServerConfig } from '@cairn/protocol'
import { isNameOfServer, mcpToolName } from './tool-name.ts'

/**
 * Names in the configuration's lists that a running server does not have. `named` contains the names and
 * patterns of all lists; those of other servers are ignored.
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
