/** What a call of a tool says, read from its arguments and its result. Pure. */

export type Arguments = Readonly<Record<string, unknown>>
export type ToolCall = {
  name: string
  /** Null where the model wrote arguments that are no object. */
  args: Arguments | null
  /** As they came, for what has no other view. */
  rawArgs: unknown
  /** Of a result that is an object. */
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

/** A model may write arguments that are no JSON, and a result may be text: both stay as they are. */
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

/** A key that holds text. */
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
