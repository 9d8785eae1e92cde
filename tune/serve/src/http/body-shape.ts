/**
 * Limits on the structure of a body, counted before it is parsed: parsing and checking cost up to a hundred
 * times more for many small values than for a long text of the same size.
 */
import { ApiError } from '../errors.ts'

export const BODY_LIMITS = {
  bytes: 8 * 2 ** 20,
  /** Objects, lists and keys of objects together. */
  parts: 100_000,
  /** Elements of lists and objects; mostly token ids. */
  values: 1_000_000,
  /**
   * The limit for a conversation, which has no lists of token ids: its values cost more on the way to a
   * template.
   */
  valuesOfChat: 200_000,
  /**
   * Values and parts of a body with tools, not counting the tools. Such a body is parsed a second time to
   * keep its numbers as written.
   */
  partsWithTools: 50_000,
  /** Objects and lists within each other. */
  depth: 512,
} as const

const [QUOTE, COMMA, COLON, OPEN_LIST, BACKSLASH, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = Array.from(
  '",:[\\]{}',
  sign => sign.charCodeAt(0),
)

export type Shape = { parts: number; values: number; depth: number }

export const tooMany = (count: number, what: string, max: number) =>
  new ApiError(
    413,
    'BadRequestError',
    `The body has ${count} ${what}; the maximum is ${max}. Send several requests.`,
  )

/** Throws 413 for a text that exceeds a limit. It need not be JSON. */
export function checkShape(text: string, limits: Shape): Shape {
  const counts = { parts: 0, values: 0, depth: 0 }
  let depth = 0
  let isInText = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isInText) {
      if (code === BACKSLASH) i++
      else if (code === QUOTE) isInText = false
    } else if (code === QUOTE) isInText = true
    else if (code === COMMA) counts.values++
    else if (code === COLON) counts.parts++
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      counts.parts++
      counts.depth = Math.max(counts.depth, ++depth)
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  for (const key of ['parts', 'values', 'depth'] as const)
    if (counts[key] > limits[key]) throw tooMany(counts[key], WHAT[key], limits[key])
  return counts
}

const WHAT = {
  parts: 'objects, lists and keys',
  values: 'values',
  depth: 'nesting levels of objects and lists',
}
