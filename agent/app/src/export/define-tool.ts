/** Definitions of the tools that trajectories used, from the tools this release has. */
import { builtinDefinitions, toolJsonSchema } from '@cairn/harness'
import type { DefineTool } from './options.ts'

/**
 * A tool that is not built in (of an MCP server, say) is shown without constraints: the log has its calls,
 * not its schema.
 */
export function createDefineTool(): DefineTool {
  const known = new Map(builtinDefinitions().map(tool => [tool.name, tool]))
  return name => {
    const tool = known.get(name)
    return {
      type: 'function',
      function: {
        name,
        description: tool?.description ?? '',
        parameters: tool ? toolJsonSchema(tool) : { type: 'object' },
      },
    }
  }
}
