/**
 * Nearly every chunk of an OpenAI stream is one piece of text. These are recognized by hand, because there
 * are thousands and the full schema takes ten times as long; everything else goes through the schema.
 */
export type PlainChunk = { model: string | undefined; text: string }

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null

/** Null for a chunk that contains, or may contain, anything else. */
export function plainChunk(raw: unknown): PlainChunk | null {
  if (!isFields(raw) || raw['usage'] || raw['x_groq']) return null
  const { model, choices } = raw
  if (typeof model !== 'string' || !Array.isArray(choices) || choices.length !== 1) return null
  const choice: unknown = choices[0]
  if (!isFields(choice) || choice['finish_reason'] || choice['message'] || choice['usage']) return null
  const { index, delta } = choice
  if ((index !== 0 && index !== undefined) || !isFields(delta)) return null
  for (const key in delta) if (key !== 'content' && key !== 'role' && delta[key] !== null) return null
  const { content } = delta
  return typeof content === 'string' ? { model, text: content } : null
}
