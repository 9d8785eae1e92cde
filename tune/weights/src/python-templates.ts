/**
 * Differences of Python's Jinja from the interpreter of @huggingface/jinja: `strip` with characters, and the
 * format of numbers. Templates are changed after parsing, values before rendering.
 */
import { ExactNumber } from './exact-json.ts'

const STRIPS = ['strip', 'lstrip', 'rstrip'] as const
type Strip = (typeof STRIPS)[number]

/** Names of functions that changed templates call. */
const nameOf = (strip: Strip) => `__${strip}_of`

function stripOf(strip: Strip): (text: unknown, characters: unknown) => string {
  return (text, characters) => {
    if (typeof text !== 'string' || typeof characters !== 'string')
      throw new Error(`${strip} takes a string and the characters to strip`)
    const isAny = (char: string | undefined) => char !== undefined && characters.includes(char)
    const chars = [...text]
    let [start, end] = [0, chars.length]
    if (strip !== 'rstrip') while (start < end && isAny(chars[start])) start++
    if (strip !== 'lstrip') while (end > start && isAny(chars[end - 1])) end--
    return chars.slice(start, end).join('')
  }
}

export const PYTHON_FUNCTIONS: Readonly<Record<string, unknown>> = Object.fromEntries(
  STRIPS.map(strip => [nameOf(strip), stripOf(strip)]),
)

type Node = { type: string; [key: string]: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** Replaces `x.lstrip('\n')` by a call of a function that takes the characters. Changes the tree in place. */
export function pythonStrips(value: unknown): void {
  if (Array.isArray(value)) {
    for (const one of value) pythonStrips(one)
    return
  }
  if (value instanceof Map) {
    for (const [key, one] of value) pythonStrips([key, one])
    return
  }
  if (!isNode(value)) return
  for (const child of Object.values(value)) pythonStrips(child)
  const { callee, args } = value
  if (value.type !== 'CallExpression' || !isNode(callee) || callee.type !== 'MemberExpression') return
  const { object, property } = callee
  if (callee['computed'] === true || !isNode(property) || !Array.isArray(args) || args.length !== 1) return
  const strip = STRIPS.find(name => name === property['value'])
  if (!strip) return
  property['value'] = nameOf(strip)
  value['callee'] = property
  value['args'] = [object, ...(args as unknown[])]
}

/** Unicode noncharacters, which no text contains. They enclose a number in Python's format. */
const [START, END] = ['\u{fdd2}', '\u{fdd3}']
const MARKED = /"\u{fdd2}([^\u{fdd2}\u{fdd3}]*)\u{fdd3}"|\u{fdd2}([^\u{fdd2}\u{fdd3}]*)\u{fdd3}/gu

/** A value whose numbers survive a template. `writeNumbers` restores them in the rendered text. */
export function markNumbers(value: unknown): unknown {
  if (value instanceof ExactNumber) return `${START}${value.text}${END}`
  if (Array.isArray(value)) return value.map(markNumbers)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, markNumbers(one)]))
}

export const writeNumbers = (rendered: string): string =>
  rendered.includes(START)
    ? rendered.replaceAll(MARKED, (_, quoted?: string, bare?: string) => quoted ?? bare ?? '')
    : rendered
