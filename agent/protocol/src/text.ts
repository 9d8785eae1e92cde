/** Text, cut to what there is space for. */

/** Text cut to at most `max` UTF-16 units, never inside a surrogate pair. */
export function clip(text: string, max: number): string {
  if (text.length <= max) return text
  const end = max - 1
  const code = text.charCodeAt(end - 1)
  return `${text.slice(0, code >= 0xd800 && code <= 0xdbff ? end - 1 : end)}…`
}
