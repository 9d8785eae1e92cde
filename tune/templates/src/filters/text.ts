/** Filters for text. */
import { flag, integerArgument, integerOr, required, textArgument } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { replaceText } from '../methods/text-methods.ts'
import { stripCharacters } from '../methods/split.ts'
import { numberOf, truth } from '../comparison.ts'
import { charactersOf, length as lengthInteger, lengthOf, listOf, textLength } from '../sequences.ts'
import { capitalize } from '../text/case.ts'
import { escapeHtml } from '../text/html.ts'
import { parseFloatText } from '../text/parse-number.ts'
import { printed } from '../text/print.ts'
import { formatPrintf } from '../text/printf.ts'
import { SPACE, splitLines, strip } from '../text/white-space.ts'
import { wrapLine } from '../text/wrap.ts'
import { Dict, Markup, Tuple, Undefined, isText, textOf, typeName, type Value } from '../values.ts'
import { define, type Filter } from './define.ts'

/** `soft_str`: what counts as escaped stays so. */
const softened = (value: Value, run: (text: string) => string): Value =>
  value instanceof Markup ? new Markup(run(value.text)) : run(printed(value))

const WORD_START = new RegExp(`([-${SPACE}({\\[<]+)`)

const titled = (text: string): string =>
  text
    .split(WORD_START)
    .map(word => {
      const [first, ...rest] = charactersOf(word)
      return first === undefined ? '' : first.toUpperCase() + rest.join('').toLowerCase()
    })
    .join('')

function indent(value: Value, width: Value | undefined, isFirst: boolean, isBlank: boolean): string {
  const text = textArgument('indent', value)
  const by =
    width === undefined
      ? '    '
      : isText(width)
        ? textOf(width)
        : ' '.repeat(integerArgument('indent', width))
  const lines = splitLines(`${text}\n`)
  const indented = isBlank
    ? lines.join(`\n${by}`)
    : lines.map((line, i) => (i > 0 && line !== '' ? by + line : line)).join('\n')
  return isFirst ? by + indented : indented
}

function truncate(value: Value, [size, kills, end, leeway]: readonly (Value | undefined)[]): Value {
  const length = integerOr('truncate', size, 255)
  const ending = end === undefined ? '...' : textArgument('truncate', end)
  const room = leeway === undefined || leeway === null ? 5 : integerArgument('truncate', leeway)
  if (length < textLength(ending))
    throw new TemplateError(`truncate: expected length >= ${textLength(ending)}, got ${length}`)
  if (lengthInteger(value) <= BigInt(length + room)) return value
  const start = charactersOf(textArgument('truncate', value))
    .slice(0, length - textLength(ending))
    .join('')
  const space = flag(kills) ? -1 : start.lastIndexOf(' ')
  const kept = space < 0 ? start : start.slice(0, space)
  return value instanceof Markup ? new Markup(kept + escapeHtml(end ?? ending)) : kept + ending
}

const SIZES = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y']

function fileSize(value: number, isBinary: boolean): string {
  const base = isBinary ? 1024 : 1000
  if (value === 1) return '1 Byte'
  if (value < base) return `${Math.trunc(value)} Bytes`
  const at = SIZES.findIndex((_, i) => value < base ** (i + 2))
  const power = at < 0 ? SIZES.length - 1 : at
  const size = SIZES[power] ?? ''
  const unit = isBinary ? `${size.toUpperCase()}iB` : `${size}B`
  return `${((base * value) / base ** (power + 2)).toFixed(1)} ${unit}`
}

/** `urllib.parse.quote`. */
const quoteUrl = (value: Value, isQuery: boolean): string => {
  const quoted = [...Buffer.from(printed(value), 'utf8')]
    .map(byte => {
      const char = String.fromCharCode(byte)
      if (/[\w.~-]/.test(char) && byte < 0x80) return char
      return char === '/' && !isQuery ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
  return isQuery ? quoted.replaceAll('%20', '+') : quoted
}

function urlEncode(value: Value): string {
  if (isText(value) || (lengthOf(value) === undefined && typeof value !== 'object'))
    return quoteUrl(value, false)
  if (value === null) return quoteUrl(value, false)
  const pairs = value instanceof Dict ? [...value.entries()].map(entry => new Tuple(entry)) : listOf(value)
  return pairs
    .map(pair => {
      const [key, one, ...others] = listOf(pair)
      if (key === undefined || one === undefined || others.length > 0)
        throw new TemplateError('urlencode takes pairs')
      return `${quoteUrl(key, true)}=${quoteUrl(one, true)}`
    })
    .join('&')
}

function attributes(value: Value, hasSpace: boolean): string {
  if (value instanceof Undefined) return value.fail()
  if (!(value instanceof Dict)) throw new TemplateError(`xmlattr takes a mapping, got '${typeName(value)}'`)
  const items = [...value.entries()].flatMap(([key, one]) => {
    if (one === null || one instanceof Undefined) return []
    const name = textArgument('xmlattr', key)
    if (/[\s/>=]/.test(name)) throw new TemplateError(`Invalid character in attribute name: '${name}'`)
    return [`${escapeHtml(name)}="${escapeHtml(one)}"`]
  })
  return items.length > 0 && hasSpace ? ` ${items.join(' ')}` : items.join(' ')
}

/** `Markup.striptags`, with the entities that it decodes. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\xa0',
}

const stripTags = (text: string): string =>
  strip(
    text
      .replaceAll(/<!--[\s\S]*?-->/g, '')
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll(new RegExp(`[${SPACE}]+`, 'g'), ' '),
  ).replaceAll(
    /&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
      if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
      return ENTITIES[name ?? ''] ?? whole
    },
  )

function wrap(value: Value, given: readonly (Value | undefined)[]): string {
  const [width, breaksWords, separator, breaksHyphens] = given
  const by = separator === undefined || separator === null ? '\n' : textArgument('wordwrap', separator)
  return splitLines(textArgument('wordwrap', value))
    .map(line =>
      wrapLine(line, {
        width: integerOr('wordwrap', width, 79),
        breaksWords: breaksWords === undefined || truth(breaksWords),
        breaksHyphens: breaksHyphens === undefined || truth(breaksHyphens),
      }).join(by),
    )
    .join(by)
}

const WORD = /[\p{L}\p{N}_]+/gu

export const TEXT_FILTERS: readonly [string, Filter][] = [
  define('capitalize', [], value => softened(value, capitalize)),
  define('center', ['width'], (value, [width], { budget }) => {
    const size = integerOr('center', width, 80)
    budget.text(Math.max(size, 0))
    return softened(value, text => {
      const missing = Math.max(size - textLength(text), 0)
      const left = Math.floor(missing / 2) + (missing & size & 1)
      return ' '.repeat(left) + text + ' '.repeat(missing - left)
    })
  }),
  ...['e', 'escape'].map(name => define(name, [], value => new Markup(escapeHtml(value)))),
  define('filesizeformat', ['binary'], (value, [binary]) => {
    if (value instanceof Undefined) return value.fail()
    const size = isText(value) ? parseFloatText(textOf(value)) : numberOf(value)
    if (size === undefined) throw new TemplateError(`filesizeformat takes a number, not '${typeName(value)}'`)
    return fileSize(Number(size), flag(binary))
  }),
  define('forceescape', [], value => new Markup(escapeHtml(printed(value)))),
  [
    'format',
    (value, { positional, named }, runtime) => {
      if (positional.length > 0 && named.size > 0)
        throw new TemplateError("can't handle positional and keyword arguments at the same time")
      const format = value instanceof Markup ? value : printed(value)
      return formatPrintf(format, named.size > 0 ? new Dict(named) : new Tuple(positional), runtime)
    },
  ],
  define('indent', ['width', 'first', 'blank'], (value, [width, first, blank], { budget }) => {
    const text = indent(value, width, flag(first), flag(blank))
    budget.text(text.length)
    return value instanceof Markup ? new Markup(text) : text
  }),
  define('lower', [], value => softened(value, text => text.toLowerCase())),
  define('replace', ['old', 'new', 'count'], (value, [old, made, count], runtime) =>
    replaceText(
      printed(value),
      {
        positional: [
          printed(required('replace', 'old', old)),
          printed(required('replace', 'new', made)),
          count ?? null,
        ],
        named: new Map(),
      },
      runtime,
    ),
  ),
  define('safe', [], value => new Markup(printed(value))),
  define('string', [], value => (value instanceof Markup ? value : printed(value))),
  define('striptags', [], value => stripTags(printed(value))),
  define('title', [], value => titled(printed(value))),
  define('trim', ['chars'], (value, [chars]) =>
    softened(value, text =>
      stripCharacters(text, chars === undefined || chars === null ? undefined : textArgument('trim', chars), {
        start: true,
        end: true,
      }),
    ),
  ),
  define('truncate', ['length', 'killwords', 'end', 'leeway'], truncate),
  define('upper', [], value => softened(value, text => text.toUpperCase())),
  define('urlencode', [], urlEncode),
  define('urlize', ['trim_url_limit', 'nofollow', 'target', 'rel', 'extra_schemes'], () => {
    throw new TemplateError('the filter urlize, which makes links for HTML, is not supported')
  }),
  define('wordcount', [], value => BigInt(printed(value).match(WORD)?.length ?? 0)),
  define('wordwrap', ['width', 'break_long_words', 'wrapstring', 'break_on_hyphens'], wrap),
  define('xmlattr', ['autospace'], (value, [space]) =>
    attributes(value, space === undefined || truth(space)),
  ),
]
