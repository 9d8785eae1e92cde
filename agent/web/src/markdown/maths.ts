/**
 * Converts the formulas that models write to the one form that the parser reads: between two dollar signs. A
 * single dollar sign usually means money, so it counts only around text that looks like mathematics. Code is
 * unchanged.
 */

const CODE = /(^(?:`{3,}|~{3,})[\s\S]*?^(?:`{3,}|~{3,})[^\n]*$|`+[^`\n]+`+)/m
const INLINE = /\\\((.+?)\\\)/g
const DISPLAY = /\\\[([\s\S]+?)\\\]/g
/** Not after a letter, a digit or a backslash; no space inside the signs; no digit after. */
const DOLLAR = /(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<![\s\\])\$(?![\d$])/g
const MATHEMATICS = /[\\^_={}<>+*/]|^[a-zA-Z]$/

/** Whether a text may contain a formula; the renderer is loaded only then. One dollar sign alone is money. */
export const mayHoldMaths = (text: string): boolean => /\$[^$]*\$|\\\(|\\\[/.test(text)

export function withMaths(text: string): string {
  return text
    .split(CODE)
    .map((part, at) => (at % 2 === 1 ? part : inProse(part)))
    .join('')
}

const inProse = (text: string): string =>
  text
    .replace(DISPLAY, (_, formula: string) => `\n\n$$\n${formula.trim()}\n$$\n\n`)
    .replace(INLINE, (_, formula: string) => `$$${formula.trim()}$$`)
    .replace(DOLLAR, (all, formula: string) => (MATHEMATICS.test(formula) ? `$$${formula}$$` : all))
