/** Splits instructions into numbered steps. Pure. */

/** A number that begins a step: at the start of the text or of a line, or after the end of a sentence. */
const NUMBER = /(?<=^|\n\s*|[.;:!?]\s+)\d{1,2}[.)]\s+/g

export type Steps = { intro: string; steps: string[] }

/**
 * The steps of a text that numbers them from 1, in lines or within one line, and the text before the first.
 * Null for other texts.
 */
export function stepsOf(text: string): Steps | null {
  const starts: { from: number; to: number }[] = []
  for (const { index, 0: number } of text.matchAll(NUMBER))
    if (Number.parseInt(number, 10) === starts.length + 1)
      starts.push({ from: index, to: index + number.length })
  const [first] = starts
  if (first === undefined || starts.length < 2) return null
  return {
    intro: text.slice(0, first.from).trim(),
    steps: starts.map(({ to }, at) => text.slice(to, starts[at + 1]?.from).trim()),
  }
}
