/**
 * Reads the arguments of a tool call as models write them. Two deviations have one meaning only and are
 * repaired: raw control characters within a string, and an object that was sent twice. Other text that is not
 * a JSON object stays a problem, which the model reads in the result of its call.
 */
import { asError, MAX_DEPTH, nestsTooDeep } from '@cairn/protocol'

type Json = Record<string, unknown>

export type ReadArguments = { value: Json; repaired: boolean } | { problem: string }

export function readArguments(text: string): ReadArguments {
  // Some models send an empty text or null instead of empty arguments.
  if (text.trim() === '' || text.trim() === 'null') return { value: {}, repaired: true }
  let value: unknown
  let repaired = false
  try {
    value = JSON.parse(text)
  } catch (error) {
    const meant = repairJson(text)
    if (meant === undefined) return { problem: `they are not JSON (${asError(error).message})` }
    value = meant
    repaired = true
  }
  if (nestsTooDeep(value)) return { problem: `they are nested deeper than ${MAX_DEPTH} levels` }
  if (isObject(value)) return { value, repaired }
  const inner = typeof value === 'string' ? parse(value) : undefined
  if (isObject(inner) && !nestsTooDeep(inner)) return { value: inner, repaired: true }
  const kind = Array.isArray(value) ? 'an array' : `a ${typeof value}`
  return { problem: `they must be a JSON object, not ${kind}` }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // The caller handles text that is not JSON.
    return undefined
  }
}

/** The object that the text can only mean; undefined if there is none. */
function repairJson(text: string): Json | undefined {
  const escaped = escapeControls(text)
  const whole = parse(escaped)
  if (isObject(whole)) return whole
  const end = endOfObject(escaped)
  if (end === -1) return undefined
  const first = parse(escaped.slice(0, end))
  const second = parse(escaped.slice(end))
  if (!isObject(first) || !isObject(second) || nestsTooDeep(first) || nestsTooDeep(second)) return undefined
  // Some gateways send the empty object of the start of a call before its arguments.
  if (Object.keys(first).length === 0) return second
  return JSON.stringify(first) === JSON.stringify(second) ? first : undefined
}

const CONTROL: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const CONTROL_END = 0x20

/** Escapes control characters within strings, where JSON does not allow them raw. */
function escapeControls(text: string): string {
  let escaped = ''
  let from = 0
  forEachChar(text, (char, at, inString) => {
    if (!inString || char.charCodeAt(0) >= CONTROL_END) return true
    escaped +=
      text.slice(from, at) + (CONTROL[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
    from = at + 1
    return true
  })
  return escaped + text.slice(from)
}

/** Index after the first object; -1 if it does not end. */
function endOfObject(text: string): number {
  let depth = 0
  let end = -1
  forEachChar(text, (char, at, inString) => {
    if (inString) return true
    if (char === '{') depth++
    else if (char === '}' && --depth === 0) end = at + 1
    return end === -1
  })
  return end
}

/** Calls `visit` until it returns false; the quotes of a string count as outside. */
function forEachChar(text: string, visit: (char: string, at: number, inString: boolean) => boolean): void {
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '"') inString = !inString
    if (!visit(char, at, inString && char !== '"')) return
    if (inString && char === '\\') at++
  }
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

/**
 * The arguments as JSON text that every server accepts: an object, without halves of surrogate pairs. What
 * cannot be read is wrapped, so that the model sees what it wrote.
 */
export function sentArguments(text: string): string {
  const read = readArguments(text)
  if ('problem' in read) return JSON.stringify({ malformed_arguments: text.toWellFormed() })
  if (!read.repaired && !ESCAPED_SURROGATE.test(text) && text.isWellFormed()) return text
  return JSON.stringify(wellFormed(read.value))
}

/** The value, with each half of a surrogate pair replaced. Its nesting is limited. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.toWellFormed(), wellFormed(inner)]),
  )
}
