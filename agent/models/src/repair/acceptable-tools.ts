/** The tools of a request as the server accepts them, and the names of those that are left out. */
import { createHash } from 'node:crypto'
import { clip } from '@cairn/protocol'
import type { ToolSchema } from '../provider.ts'
import type { ServerProfile } from '../servers/profiles.ts'
import { matcherOf } from './matcher.ts'
import { acceptableSchema } from './tool-schemas.ts'

const HASH_CHARS = 12

/** Identifies a tool in `omitted_tools`: a changed definition is sent again. */
export function toolKey({ name, description, parameters }: ToolSchema): string {
  const definition = JSON.stringify([description, parameters])
  return `${name}@${createHash('sha256').update(definition).digest('hex').slice(0, HASH_CHARS)}`
}

export type AcceptableTools = {
  tools: readonly ToolSchema[]
  /** Names, each once. */
  omitted: readonly string[]
}

export function acceptableTools(offered: readonly ToolSchema[], profile: ServerProfile): AcceptableTools {
  const { max_tools, max_description, omitted_tools, omitted_keywords, tool_name_pattern } = profile
  const matches = matcherOf(tool_name_pattern)
  const mayBeOmitted = new Set(omitted_tools.map(key => key.slice(0, key.lastIndexOf('@'))))
  const isOmitted = (tool: ToolSchema): boolean =>
    mayBeOmitted.has(tool.name) && omitted_tools.includes(toolKey(tool))
  const unique = new Map<string, ToolSchema>()
  for (const tool of offered)
    if (!unique.has(tool.name) && matches(tool.name) && !isOmitted(tool)) unique.set(tool.name, tool)
  const chosen = [...unique.values()].slice(0, max_tools ?? unique.size)
  const sent = new Set(chosen.map(({ name }) => name))
  return {
    tools: chosen.map(({ name, description, parameters }) => ({
      name,
      description: describe(description.toWellFormed().trim() || name, max_description),
      parameters: acceptableSchema(parameters, omitted_keywords),
    })),
    omitted: [...new Set(offered.map(({ name }) => name))].filter(name => !sent.has(name)),
  }
}

const describe = (text: string, max: number | null): string => (max === null ? text : clip(text, max))
