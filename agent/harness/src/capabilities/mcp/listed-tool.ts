/** One entry of a server's list of tools, read by itself, so that a bad entry costs no other tool. */
export type ListedTool = {
  name: string
  title?: string
  description?: string
  /** As the server sent it; undefined: it sent none. */
  inputSchema?: unknown
}

/** The tool, or why the entry is none. Texts of a wrong type are left out. */
export function readTool(entry: unknown): ListedTool | { problem: string } {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    return { problem: `an entry is not an object: ${shown(entry)}` }
  const { name, title, description, inputSchema } = entry as Record<string, unknown>
  if (typeof name !== 'string') return { problem: `an entry has no name: ${shown(entry)}` }
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    ...(inputSchema === undefined ? {} : { inputSchema }),
  }
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'undefined').slice(0, 100)
