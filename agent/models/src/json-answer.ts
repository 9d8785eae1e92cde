/** JSON Schema answers from servers that support only instructions in the prompt. */

/** The instructions, appended to the system prompt. */
export const schemaPrompt = (schema: Record<string, unknown>): string =>
  'Answer with one JSON value that matches this JSON Schema, and nothing else: no prose, no code fence.\n' +
  `${JSON.stringify(schema)}`

/**
 * The JSON text within an answer: the answer itself, a fenced block, or the outermost braces. Unchanged if
 * there is none.
 */
export function jsonWithin(text: string): string {
  const fenced = firstFence(text)
  const braces = text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1)
  return (
    [text, fenced, braces].find(candidate => candidate !== undefined && isJson(candidate))?.trim() ?? text
  )
}

const FENCE = '```'

/**
 * The content of the first fenced block. Without a regex, which would backtrack over a megabyte of spaces.
 */
function firstFence(text: string): string | undefined {
  const open = text.indexOf(FENCE)
  const close = open === -1 ? -1 : text.indexOf(FENCE, open + FENCE.length)
  return close === -1 ? undefined : text.slice(open + FENCE.length, close).replace(/^json/, '')
}

/** Whether OpenAI's strict mode accepts the schema: every object closed, every property required. */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema)
  if (typeof schema !== 'object' || schema === null) return true
  const { type, properties, required, additionalProperties } = schema as Record<string, unknown>
  if (type === 'object' || properties !== undefined) {
    const names = Object.keys(properties ?? {})
    if (
      additionalProperties !== false ||
      !Array.isArray(required) ||
      !names.every(name => required.includes(name))
    )
      return false
  }
  return Object.values(schema).every(isStrictSchema)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // Invalid JSON is an expected result here.
    return false
  }
}
