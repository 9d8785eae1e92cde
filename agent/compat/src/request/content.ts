/** The content of a tool's result: JSON text, or plain text. */

export function jsonOf(content: string): unknown {
  try {
    return JSON.parse(content) as unknown
  } catch {
    return content // Plain text.
  }
}

/** The text of a failure, which is JSON with the key `error` (contract 13.1). */
export function errorOf(content: string): string {
  const parsed = jsonOf(content)
  return typeof parsed === 'object' &&
    parsed !== null &&
    'error' in parsed &&
    typeof parsed.error === 'string'
    ? parsed.error
    : content
}
