/** Definitions of the tools used in trajectories, taken from this release's tools. */
import { builtinDefinitions, toolJsonSchema } from '@cairn/harness'
import type { DefineTool } from './options.ts'

/**
 * A tool that is not built in (for example of an MCP server) gets a definition without constraints: the log
 * has its calls, not its schema.
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
