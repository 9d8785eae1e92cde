/**
 * What an error body says, whatever its shape: gateways wrap the error of another server, also as JSON text
 * within a text, and servers name the same fields differently.
 */
import { nestsTooDeep } from '@cairn/protocol'

export type ErrorBody = {
  /** All sentences, the outermost first. */
  message: string
  /** Names of the error: `code`, `type`, `status` and the like, at every level. */
  kinds: readonly string[]
  /** The field of the request that the error names, such as `tools[0].function.description`. */
  param: string | null
  retryAfterMs: number | null
}

type Found = { texts: string[]; kinds: string[]; params: string[]; waits: number[] }

const MAX_DEPTH = 16
const MAX_TEXT_CHARS = 4000
const MAX_MESSAGE_CHARS = 16_000
const MAX_TEXTS = 20
const TEXTS = [
  'message',
  'Message',
  'msg',
  'error_message',
  'errorMessage',
  'error_description',
  'detail',
  'title',
  'raw',
]
const WRAPPERS = [
  'error',
  'errors',
  'details',
  'metadata',
  'cause',
  'inner_error',
  'innererror',
  'body',
  'response',
  'data',
]
const KINDS = ['code', 'type', 'status', 'reason', 'error_code', 'error_type', 'errorCode', '__type']
const PARAMS = ['param', 'field']

/** `body` is text, or what JSON.parse made of it. */
export function readErrorBody(body: unknown): ErrorBody {
  const { texts, kinds, params, waits } = findIn(body)
  const message = texts.join(': ') || asText(body)
  const waitsMs = [...waits, ...texts.flatMap(waitInText)]
  return {
    message: message.slice(0, MAX_MESSAGE_CHARS),
    kinds: [...new Set(kinds)],
    param: params[0] ?? null,
    retryAfterMs: waitsMs.length === 0 ? null : Math.max(...waitsMs),
  }
}

/** A body without a sentence is shown as it is. */
const asText = (body: unknown): string =>
  typeof body !== 'object' || body === null || nestsTooDeep(body) ? '' : JSON.stringify(body)

function findIn(body: unknown): Found {
  const found: Found = { texts: [], kinds: [], params: [], waits: [] }
  visit(body, found, 0)
  const texts = found.texts.filter(
    (text, at) => !found.texts.some((other, place) => place !== at && contains(other, text, place < at)),
  )
  return { ...found, texts }
}

/**
 * The error that an answer contains in place of its content; undefined for an answer. An empty error, or one
 * that says that all is well, is none.
 */
export function errorIn(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return undefined
  const fields = answer as Readonly<Record<string, unknown>>
  if (saysError(fields['error'])) return answer
  if (Array.isArray(fields['choices'])) return undefined
  if (fields['object'] === 'error' || fields['type'] === 'error') return answer
  const isAnswer = ['choices', 'usage', 'type'].some(key => key in fields)
  return !isAnswer && findIn(answer).texts.length > 0 ? answer : undefined
}

function saysError(error: unknown): boolean {
  if (typeof error === 'string') return error.trim() !== ''
  if (typeof error !== 'object' || error === null) return error === true
  const { code, message } = error as Readonly<Record<string, unknown>>
  const isFine =
    [0, '0', 200, '200'].some(fine => fine === code) && /^(ok|success)?$/i.test(String(message ?? ''))
  return !isFine && Object.values(error).some(value => value !== null && value !== '' && value !== undefined)
}

/** Keeps the first of two equal texts. */
const contains = (other: string, text: string, isBefore: boolean): boolean =>
  other === text ? isBefore : other.includes(text)

function visit(value: unknown, found: Found, depth: number): void {
  if (depth > MAX_DEPTH || found.texts.length >= MAX_TEXTS) return
  if (typeof value === 'string') return visitText(value, found, depth)
  if (Array.isArray(value)) return value.slice(0, MAX_TEXTS).forEach(each => visit(each, found, depth + 1))
  if (typeof value !== 'object' || value === null) return
  const fields = value as Readonly<Record<string, unknown>>
  for (const key of KINDS) if (isWord(fields[key])) found.kinds.push(String(fields[key]))
  for (const key of PARAMS) if (isWord(fields[key])) found.params.push(String(fields[key]))
  // FastAPI names the field as a path.
  const path = Array.isArray(fields['loc']) ? fields['loc'].filter(step => step !== 'body').join('.') : ''
  if (path !== '') found.params.push(path)
  found.waits.push(...waitsOf(fields))
  for (const key of TEXTS) visit(fields[key], found, depth + 1)
  for (const key of WRAPPERS) visit(fields[key], found, depth + 1)
}

function visitText(given: string, found: Found, depth: number): void {
  const text = given.trim()
  if (text === '') return
  if (text.startsWith('{') || text.startsWith('[')) {
    const inner = parsed(text)
    if (inner !== undefined) return visit(inner, found, depth + 1)
  }
  found.texts.push(isPage(text) ? quotePage(text) : text.slice(0, MAX_TEXT_CHARS))
}

const isWord = (value: unknown): value is string | number =>
  (typeof value === 'string' && value.trim() !== '') || typeof value === 'number'

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Text that only looks like JSON, or was cut: it is shown as it is.
    return undefined
  }
}

// ---- the time to wait

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const SECONDS = ['retry_after', 'retryAfter', 'retry-after', 'retry_after_seconds', 'retryAfterSeconds']
const MILLISECONDS = ['retry_after_ms', 'retryAfterMs', 'retry-after-ms']
/** Google's RetryInfo. */
const DURATIONS = ['retryDelay', 'retry_delay']

function waitsOf(fields: Readonly<Record<string, unknown>>): number[] {
  const read = (keys: readonly string[], unit: number) =>
    keys.flatMap(key => {
      const value = fields[key]
      const wait = typeof value === 'number' ? value * unit : durationMs(value, unit)
      return wait !== null && Number.isFinite(wait) && wait >= 0 ? [Math.round(wait)] : []
    })
  return [...read(MILLISECONDS, 1), ...read(SECONDS, 1000), ...read(DURATIONS, 1000)]
}

/** "3.5s", "1m26.4s", "250ms", "12" in the given unit, or {seconds, nanos}; null for anything else. */
function durationMs(value: unknown, unit: number): number | null {
  if (typeof value === 'object' && value !== null) {
    const { seconds = 0, nanos = 0 } = value as { seconds?: unknown; nanos?: unknown }
    const total = Number(seconds) * 1000 + Number(nanos) / 1e6
    return Number.isFinite(total) ? total : null
  }
  if (typeof value !== 'string') return null
  const text = value.trim()
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * unit
  return /^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text) ? sumOf(text) : null
}

const sumOf = (text: string): number =>
  [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h)/gi)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (UNITS[(unit ?? '').toLowerCase()] ?? 0),
    0,
  )

const SENTENCE =
  /\b(?:try again|retry|wait|available|reset)s?\s+(?:in|after|for|at least)?\s*((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|h)(?![a-z])\s*)+)/gi

/** "Please try again in 3.5s." */
function waitInText(text: string): number[] {
  return [...text.matchAll(SENTENCE)].map(([, amount]) =>
    Math.round(
      sumOf(
        (amount ?? '')
          .replaceAll(/milliseconds?/gi, 'ms')
          .replaceAll(/sec(ond)?s?/gi, 's')
          .replaceAll(/min(ute)?s?/gi, 'm')
          .replaceAll(/hours?/gi, 'h'),
      ),
    ),
  )
}

// ---- web pages

export const isPage = (text: string): boolean =>
  /^\s*<(!doctype|html|head|body|\?xml|title|center|h1)/i.test(text)

export const A_PAGE = 'a web page'
const PAGE_START_CHARS = 4096

/** A web page in the words of its title. */
export function quotePage(page: string): string {
  const title = /<(title|h1)[^>]{0,100}>([^<]{1,200})/i
    .exec(page.slice(0, PAGE_START_CHARS))?.[2]
    ?.replaceAll(/\s+/g, ' ')
    .trim()
  return title ? `${A_PAGE} ("${title}")` : A_PAGE
}
