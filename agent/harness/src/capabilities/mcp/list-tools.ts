/**
 * Lists the tools of a server page by page. The server decides when its list ends, so each step has a
 * maximum.
 */
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { type ListedTool, readTool } from './listed-tool.ts'
import { rawResult } from './protocol-results.ts'

const REQUEST_TIMEOUT_MS = 10_000
const MAX_TOOLS = 500
const MAX_PAGES = 100
const PROBLEMS_SHOWN = 10

/** Only the frame; each tool is read by itself. */
const Page = z.looseObject({ tools: z.unknown().optional(), nextCursor: z.unknown().optional() })

export type ToolList = {
  tools: ListedTool[]
  /** Why the list is shorter than what the server sent, for the log. */
  problems: string[]
  /** Whether calls repeat arguments as HTTP headers (param-headers.ts). */
  mirrorsArguments: boolean
}

/** Lists each name once. Stops at the last page, at a repeated cursor, and at the maximums. */
export async function listTools(client: Client): Promise<ToolList> {
  const mirrorsArguments = client.getProtocolEra() === 'modern'
  if (client.getServerCapabilities()?.tools === undefined)
    return { tools: [], problems: [], mirrorsArguments }
  const tools = new Map<string, ListedTool>()
  const repeated = new Set<string>()
  const unreadable: string[] = []
  const cursors = new Set<string>()
  let end: string | null = null
  let cursor: string | undefined
  for (let pages = 1; end === null; pages += 1) {
    const page = Page.parse(
      rawResult(
        await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, Page, {
          timeout: REQUEST_TIMEOUT_MS,
        }),
      ),
    )
    if (!Array.isArray(page.tools)) end = 'a page of its list has no array of tools'
    for (const entry of Array.isArray(page.tools) ? page.tools : []) {
      const tool = readTool(entry)
      if ('problem' in tool) unreadable.push(tool.problem)
      else if (tools.has(tool.name)) repeated.add(tool.name)
      else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool)
      else end = `it has more than ${MAX_TOOLS} tools; the others are left out`
    }
    // Some servers end a list with null or an empty text.
    if (typeof page.nextCursor !== 'string' || page.nextCursor === '') break
    cursor = page.nextCursor
    if (cursors.has(cursor)) end = `it sent the cursor ${JSON.stringify(cursor.slice(0, 100))} twice`
    else if (pages === MAX_PAGES) end = `it has more than ${MAX_PAGES} pages; the others were not requested`
    cursors.add(cursor)
  }
  const names = [...repeated].slice(0, 10).map(name => JSON.stringify(name.slice(0, 100)))
  return {
    tools: [...tools.values()],
    mirrorsArguments,
    problems: [
      ...(end === null ? [] : [end]),
      ...unreadable.slice(0, PROBLEMS_SHOWN),
      ...(unreadable.length > PROBLEMS_SHOWN
        ? [`${unreadable.length - PROBLEMS_SHOWN} more entries are no tools`]
        : []),
      ...(names.length === 0
        ? []
        : [`it lists a name twice, and the first tool is used: ${names.join(', ')}`]),
    ],
  }
}
