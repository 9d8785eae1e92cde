/** Text, cut to a length. Lengths are in UTF-16 units; no cut leaves half of a surrogate pair. */

/** The first so many units of a text. */
export function cutAt(text: string, max: number): string {
  if (text.length <= max) return text
  const code = text.charCodeAt(max - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? max - 1 : max)
}

/** As cutAt, and a cut is shown by `…`, which counts. */
export const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${cutAt(text, max - 1)}…`
