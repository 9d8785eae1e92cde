/** A tool call, parsed from its arguments and its result. Pure. */

export type Arguments = Readonly<Record<string, unknown>>
export type ToolCall = {
  name: string
  /** Null if the model's arguments are not an object. */
  args: Arguments | null
  /** The arguments before that check, for a call without another view. */
  rawArgs: unknown
  /** The result, if it is an object. */
  result: Arguments | null
  /** The result as the model read it; null while there is none. */
  content: string | null
}

export function readCall(name: string, args: Arguments | string, content: string | null): ToolCall {
  const rawArgs = typeof args === 'string' ? parsed(args) : args
  return {
    name,
    rawArgs,
    args: asObject(rawArgs),
    content,
    result: content === null ? null : asObject(parsed(content)),
  }
}

/** Arguments may be invalid JSON, and results may be text: both are returned unchanged. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const asObject = (value: unknown): Arguments | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Arguments) : null

/** The value of a key, if it is text. */
export const textOf = (of: Arguments | null, key: string): string | null => {
  const value = of?.[key]
  return typeof value === 'string' ? value : null
}
export const numberOf = (of: Arguments | null, key: string): number | null => {
  const value = of?.[key]
  return typeof value === 'number' ? value : null
}
export const listOf = (of: Arguments | null, key: string): readonly unknown[] => {
  const value = of?.[key]
  return Array.isArray(value) ? value : []
}
