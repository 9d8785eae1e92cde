/** Cuts text to a length in UTF-16 units, never inside a surrogate pair. */

/** The first `max` units of a text. */
export function cutAt(text: string, max: number): string {
  if (text.length <= max) return text
  const code = text.charCodeAt(max - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? max - 1 : max)
}

/** Like `cutAt`, with `…` in place of what was cut; the `…` counts. */
export const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${cutAt(text, max - 1)}…`
