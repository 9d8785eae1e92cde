/**
 * Lists the tools of a server page by page. The server decides when its list ends, so each step has a
 * maximum.
 */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ListToolsResultSchema, type Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'

const REQUEST_TIMEOUT_MS = 10_000
const MAX_TOOLS = 500
const MAX_PAGES = 100

export type ToolList = {
  tools: McpTool[]
  /** Why the list is shorter than what the server sent, for the log. */
  problems: string[]
}

/** Lists each name once. Stops at the last page, at a repeated cursor, and at the maximums. */
export async function listTools(client: Client): Promise<ToolList> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], problems: [] }
  const tools = new Map<string, McpTool>()
  const repeated = new Set<string>()
  const cursors = new Set<string>()
  let end: string | null = null
  let cursor: string | undefined
  for (let pages = 1; end === null; pages += 1) {
    const page = await client.request(
      { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
      ListToolsResultSchema,
      { timeout: REQUEST_TIMEOUT_MS },
    )
    for (const tool of page.tools)
      if (tools.has(tool.name)) repeated.add(tool.name)
      else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool)
      else end = `it has more than ${MAX_TOOLS} tools; the others are left out`
    cursor = page.nextCursor
    if (cursor === undefined) break
    if (cursors.has(cursor)) end = `it sent the cursor ${JSON.stringify(cursor.slice(0, 100))} twice`
    else if (pages === MAX_PAGES) end = `it has more than ${MAX_PAGES} pages; the others were not requested`
    cursors.add(cursor)
  }
  const names = [...repeated].slice(0, 10).map(name => JSON.stringify(name.slice(0, 100)))
  return {
    tools: [...tools.values()],
    problems: [
      ...(end === null ? [] : [end]),
      ...(names.length === 0
        ? []
        : [`it lists a name twice, and the first tool is used: ${names.join(', ')}`]),
    ],
  }
}
