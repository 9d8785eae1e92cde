/** Methods of Python's `str`. */
import { flag, integerArgument, integerOr, required, textArgument } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { charactersOf, listOf, slice, textLength } from '../sequences.ts'
import { capitalize, caseFold, isLower, isTitle, isUpper, swapCase, titleCase } from '../text/case.ts'
import { formatFields } from '../text/format-fields.ts'
import { isSpaces, splitLines } from '../text/white-space.ts'
import { Dict, Tuple, isText, textOf, typeName, type Value } from '../values.ts'
import { split, stripCharacters } from './split.ts'
import { method, unsupported, type Method } from './table.ts'

type Run = (text: string, given: readonly (Value | undefined)[]) => Value

const plain = (name: string, run: (text: string) => Value): [string, Method<string>] => [
  name,
  method<string>(name, [], text => run(text)),
]
const takes = (name: string, parameters: readonly string[], run: Run): [string, Method<string>] => [
  name,
  method<string>(name, parameters, (text, given) => run(text, given)),
]

const argument = (name: string, value: Value | undefined, parameter: string): string =>
  textArgument(name, required(name, parameter, value))

/** The part of a text between two positions, and where it starts. */
function between(text: string, start: Value | undefined, stop: Value | undefined): [string, number] {
  const part = slice(text, { start, stop, step: undefined }) as string
  const length = textLength(text)
  const from = start === undefined || start === null ? 0 : integerArgument('find', start)
  return [part, from < 0 ? Math.max(from + length, 0) : from]
}

const SEARCH = ['sub', 'start', 'end']

/** The position of a text in code points, or -1. */
function find(name: string, isLast: boolean): Run {
  return (text, [sub, start, stop]) => {
    const [part, offset] = between(text, start, stop)
    const sought = argument(name, sub, 'sub')
    if (offset > textLength(text)) return -1n
    const at = isLast ? part.lastIndexOf(sought) : part.indexOf(sought)
    return at < 0 ? -1n : BigInt(textLength(part.slice(0, at)) + offset)
  }
}

function index(name: string, isLast: boolean): Run {
  const run = find(name, isLast)
  return (text, given) => {
    const at = run(text, given)
    if (at === -1n) throw new TemplateError('substring not found')
    return at
  }
}

/** `startswith` and `endswith`, which take a tuple, too. */
function affix(name: string, test: (text: string, affix: string) => boolean): [string, Method<string>] {
  return takes(name, ['prefix', 'start', 'end'], (text, [prefix, start, stop]) => {
    const [part] = between(text, start, stop)
    const given = required(name, 'prefix', prefix)
    const options = given instanceof Tuple ? given.items : [given]
    return options.some(option => {
      if (!isText(option))
        throw new TemplateError(`${name} first arg must be str or a tuple of str, not ${typeName(option)}`)
      return test(part, textOf(option))
    })
  })
}

function padded(name: string, place: (missing: number, width: number) => number): [string, Method<string>] {
  const run = method<string>(name, ['width', 'fillchar'], (text, [size, fill], { budget }) => {
    const width = integerArgument(name, required(name, 'width', size))
    const char = fill === undefined ? ' ' : textArgument(name, fill)
    if (textLength(char) !== 1)
      throw new TemplateError('The fill character must be exactly one character long')
    const missing = width - textLength(text)
    if (missing <= 0) return text
    budget.text(width)
    const left = place(missing, width)
    return char.repeat(left) + text + char.repeat(missing - left)
  })
  return [name, run]
}

/** Python puts the odd space of `center` on the left if the width is odd. */
const centered = (missing: number, width: number): number => Math.floor(missing / 2) + (missing & width & 1)

function partition(name: string, isLast: boolean): [string, Method<string>] {
  return takes(name, ['sep'], (text, [sep]) => {
    const separator = argument(name, sep, 'sep')
    if (separator === '') throw new TemplateError('empty separator')
    const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator)
    if (at < 0) return new Tuple(isLast ? ['', '', text] : [text, '', ''])
    return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)])
  })
}

const stripped = (name: string, sides: { start: boolean; end: boolean }): [string, Method<string>] =>
  takes(name, ['chars'], (text, [chars]) =>
    stripCharacters(
      text,
      chars === undefined || chars === null ? undefined : textArgument(name, chars),
      sides,
    ),
  )

/** `str.replace`, which the filter of this name calls, too. */
export const replaceText: Method<string> = method<string>(
  'replace',
  ['old', 'new', 'count'],
  (text, [before, after, count], { budget }) => {
    const [old, made] = [argument('replace', before, 'old'), argument('replace', after, 'new')]
    const limit = count === undefined || count === null ? -1 : integerArgument('replace', count)
    const parts = old === '' ? ['', ...charactersOf(text), ''] : text.split(old)
    const used = limit < 0 ? parts.length - 1 : Math.min(limit, parts.length - 1)
    budget.text(text.length + used * made.length)
    return (
      parts.slice(0, used + 1).join(made) +
      (used < parts.length - 1 ? old : '') +
      parts.slice(used + 1).join(old)
    )
  },
)

const joinTexts: Method<string> = method<string>('join', ['iterable'], (text, [given], { budget }) => {
  const items = listOf(required('join', 'iterable', given)).map((item, i) => {
    if (isText(item)) return textOf(item)
    throw new TemplateError(`sequence item ${i}: expected str instance, ${typeName(item)} found`)
  })
  budget.text(items.reduce((sum, item) => sum + item.length + text.length, 0))
  return items.join(text)
})

function countIn(text: string, sought: string): bigint {
  if (sought === '') return BigInt(textLength(text) + 1)
  return BigInt(text.split(sought).length - 1)
}

const every = (name: string, pattern: RegExp): [string, Method<string>] =>
  plain(name, text => pattern.test(text))

/** Numerals that are digits but no decimal ones, like ² and ①. */
const DIGIT =
  /^[\p{Nd}²³¹\u1369-\u1371\u19da\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}\u{1f100}-\u{1f10a}]+$/u
/** Numerals, with those of Chinese. */
const NUMERIC =
  /^[\p{N}\u3405\u3483\u382a\u3b4d\u4e00\u4e03\u4e07\u4e09\u4e5d\u4e8c\u4e94\u4e96\u4ebf\u4edf\u4ee8\u4f0d\u4f70\u5104\u5146\u5169\u516b\u516d\u5341\u5343\u5344\u5345\u534c\u53c1-\u53c4\u56db\u58f1\u58f9\u5e7a\u5efe\u5eff\u5f0c-\u5f0e\u5f10\u62fe\u634c\u67d2\u6f06\u7396\u767e\u8086\u842c\u8cae\u8cb3\u8d30\u9621\u9646\u964c\u9678\u96f6\uf96b\uf973\uf978\uf9b2\uf9d1\uf9d3\uf9fd\u{20001}\u{20064}\u{200e2}\u{20121}\u{2092a}\u{20983}\u{2098c}\u{2099c}\u{20aea}\u{20afd}\u{20b19}\u{22390}\u{22998}\u{23b1b}\u{2626d}\u{2f890}]+$/u
const ALPHANUMERIC = /^[\p{L}]$/u

const isAlphanumeric = (text: string): boolean =>
  text !== '' && charactersOf(text).every(char => ALPHANUMERIC.test(char) || NUMERIC.test(char))

function translate(text: string, table: Value): string {
  if (!(table instanceof Dict)) throw new TemplateError('translate() takes a table that maketrans() made')
  return charactersOf(text)
    .map(char => {
      const made = table.get(BigInt(char.codePointAt(0) ?? 0))
      if (made === undefined) return char
      if (made === null) return ''
      return isText(made) ? textOf(made) : String.fromCodePoint(integerArgument('translate', made))
    })
    .join('')
}

function translationTable([from, to, removed]: readonly (Value | undefined)[]): Dict {
  if (from instanceof Dict)
    return new Dict(
      [...from.entries()].map(([key, value]) => [
        isText(key) ? BigInt(textOf(key).codePointAt(0) ?? 0) : key,
        value,
      ]),
    )
  const [a, b] = [from, to].map(value => charactersOf(argument('maketrans', value, 'x')))
  if (a?.length !== b?.length)
    throw new TemplateError('the first two maketrans arguments must have equal length')
  const code = (char: string) => BigInt(char.codePointAt(0) ?? 0)
  const table = new Dict((a ?? []).map((char, i) => [code(char), code(b?.[i] ?? '')]))
  for (const char of charactersOf(removed === undefined ? '' : textArgument('maketrans', removed)))
    table.set(code(char), null)
  return table
}

function zeroFill(text: string, width: number): string {
  const missing = width - textLength(text)
  if (missing <= 0) return text
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  return sign + '0'.repeat(missing) + text.slice(sign.length)
}

function expandTabs(text: string, size: number): string {
  let column = 0
  return charactersOf(text)
    .map(char => {
      if (char === '\n' || char === '\r') column = 0
      else if (char !== '\t') column++
      else {
        const width = size > 0 ? size - (column % size) : 0
        column += width
        return ' '.repeat(width)
      }
      return char
    })
    .join('')
}

export const TEXT_METHODS: ReadonlyMap<string, Method<string>> = new Map([
  plain('capitalize', capitalize),
  plain('casefold', caseFold),
  padded('center', centered),
  takes('count', SEARCH, (text, [sub, start, stop]) =>
    countIn(between(text, start, stop)[0], argument('count', sub, 'sub')),
  ),
  ['encode', unsupported('encode')],
  affix('endswith', (text, end) => text.endsWith(end)),
  takes('expandtabs', ['tabsize'], (text, [size]) => expandTabs(text, integerOr('expandtabs', size, 8))),
  takes('find', SEARCH, find('find', false)),
  ['format', (text, args, runtime) => formatFields(text, args, runtime)],
  [
    'format_map',
    method<string>('format_map', ['mapping'], (text, [mapping], runtime) => {
      if (!(mapping instanceof Dict)) throw new TemplateError('format_map() takes a mapping')
      return formatFields(text, mapping, runtime)
    }),
  ],
  takes('index', SEARCH, index('index', false)),
  plain('isalnum', isAlphanumeric),
  every('isalpha', /^\p{L}+$/u),
  // eslint-disable-next-line no-control-regex
  every('isascii', /^[\0-\x7f]*$/),
  every('isdecimal', /^\p{Nd}+$/u),
  every('isdigit', DIGIT),
  every('isidentifier', /^[\p{ID_Start}_]\p{ID_Continue}*$/u),
  plain('islower', isLower),
  every('isnumeric', NUMERIC),
  every('isprintable', /^(?:[^\p{C}\p{Z}]| )*$/u),
  plain('isspace', text => text !== '' && isSpaces(text)),
  plain('istitle', isTitle),
  plain('isupper', isUpper),
  ['join', joinTexts],
  padded('ljust', () => 0),
  plain('lower', text => text.toLowerCase()),
  stripped('lstrip', { start: true, end: false }),
  takes('maketrans', ['x', 'y', 'z'], (_text, given) => translationTable(given)),
  partition('partition', false),
  takes('removeprefix', ['prefix'], (text, [prefix]) => {
    const start = argument('removeprefix', prefix, 'prefix')
    return text.startsWith(start) ? text.slice(start.length) : text
  }),
  takes('removesuffix', ['suffix'], (text, [suffix]) => {
    const end = argument('removesuffix', suffix, 'suffix')
    return end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text
  }),
  ['replace', replaceText],
  takes('rfind', SEARCH, find('rfind', true)),
  takes('rindex', SEARCH, index('rindex', true)),
  padded('rjust', missing => missing),
  partition('rpartition', true),
  takes('rsplit', ['sep', 'maxsplit'], (text, given) => split(text, given, true)),
  stripped('rstrip', { start: false, end: true }),
  takes('split', ['sep', 'maxsplit'], (text, given) => split(text, given, false)),
  takes('splitlines', ['keepends'], (text, [keeps]) => splitLines(text, flag(keeps))),
  affix('startswith', (text, start) => text.startsWith(start)),
  stripped('strip', { start: true, end: true }),
  plain('swapcase', swapCase),
  plain('title', titleCase),
  takes('translate', ['table'], (text, [table]) => translate(text, required('translate', 'table', table))),
  plain('upper', text => text.toUpperCase()),
  takes('zfill', ['width'], (text, [width]) =>
    zeroFill(text, integerArgument('zfill', required('zfill', 'width', width))),
  ),
])
