/** Filters for lists and other sequences. */
import { flag, integerArgument, printedOr, required } from '../arguments.ts'
import { TemplateError } from '../errors.ts'
import { compare, equals } from '../comparison.ts'
import { binary } from '../operations.ts'
import type { Runtime } from '../values.ts'
import { charactersOf, itemsOf, iterate, length, listOf } from '../sequences.ts'
import { printed } from '../text/print.ts'
import {
  Dict,
  Markup,
  Stream,
  Tuple,
  Undefined,
  isText,
  keyOf,
  orElse,
  textOf,
  type Value,
} from '../values.ts'
import { attributeGetter, define, ignoreCase, type Filter } from './define.ts'

/** Runs when it is read, as in Python, and can be read once. */
const stream = (items: Generator<Value>, name = 'generator'): Stream => new Stream(items, name)

export function* each(value: Value): Generator<Value> {
  const iterator = iterate(value)
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) yield next.value
}

/** `sorted`, which is stable in reverse order, too. */
function sorted(items: readonly Value[], key: (item: Value) => Value, isReversed: boolean): Value[] {
  const keyed = items.map(item => ({ item, key: key(item) }))
  keyed.sort((a, b) => (isReversed ? compare(b.key, a.key) : compare(a.key, b.key)))
  return keyed.map(({ item }) => item)
}

function* batches(value: Value, size: number, fill: Value | undefined): Generator<Value> {
  let batch: Value[] = []
  for (const item of each(value)) {
    if (batch.length === size) {
      yield batch
      batch = []
    }
    batch.push(item)
  }
  if (batch.length === 0) return
  const missing = fill === undefined || fill === null ? 0 : size - batch.length
  yield missing > 0 ? [...batch, ...Array.from({ length: missing }, () => fill ?? null)] : batch
}

function* slices(value: Value, count: number, fill: Value | undefined): Generator<Value> {
  const items = listOf(value)
  if (count === 0) throw new TemplateError('integer division or modulo by zero')
  const size = Math.floor(items.length / count)
  const extra = items.length - size * count
  for (let i = 0; i < count; i++) {
    const start = i * size + Math.min(i, extra)
    const part = items.slice(start, start + size + Number(i < extra))
    yield fill !== undefined && fill !== null && i >= extra ? [...part, fill] : part
  }
}

function* unique(value: Value, key: (item: Value) => Value): Generator<Value> {
  const seen = new Dict()
  for (const item of each(value)) {
    const one = key(item)
    if (seen.has(one)) continue
    if (keyOf(one) !== undefined) seen.set(one, null)
    yield item
  }
}

function groups(
  value: Value,
  [attribute, otherwise, isSensitive]: readonly (Value | undefined)[],
  runtime: Runtime,
): Value {
  const get = attributeGetter(required('groupby', 'attribute', attribute), runtime, otherwise)
  const key = (item: Value) => (flag(isSensitive) ? get(item) : ignoreCase(get(item)))
  const found: { key: Value; items: Value[] }[] = []
  for (const item of sorted(listOf(value), key, false)) {
    const last = found.at(-1)
    const own = key(item)
    if (last && equals(last.key, own)) last.items.push(item)
    else found.push({ key: own, items: [item] })
  }
  return found.map(group => new Tuple([get(group.items[0] ?? null), group.items], ['grouper', 'list']))
}

/** `min` and `max`, which keep the first of equal items. */
const extreme = (name: string, sign: number): [string, Filter] =>
  define(name, ['case_sensitive', 'attribute'], (value, [isSensitive, attribute], runtime) => {
    const get = attributeGetter(attribute, runtime)
    const key = (item: Value) => (flag(isSensitive) ? get(item) : ignoreCase(get(item)))
    const [first, ...rest] = listOf(value)
    if (first === undefined) return new Undefined('No aggregated item, sequence was empty.')
    return rest.reduce((best, item) => (sign * compare(key(item), key(best)) > 0 ? item : best), first)
  })

function reversed(value: Value): Value {
  if (isText(value)) {
    const text = charactersOf(textOf(value)).toReversed().join('')
    return value instanceof Markup ? new Markup(text) : text
  }
  const items = itemsOf(value)
  if (items) return new Stream(items.toReversed()[Symbol.iterator](), 'list_reverseiterator')
  return listOf(value).toReversed()
}

function last(value: Value): Value {
  const items = itemsOf(value)
  if (!items) throw new TemplateError('the filter last takes a sequence; add | list in front of it')
  return orElse(items.at(-1), () => new Undefined('No last item, sequence was empty.'))
}

function sortedDict(value: Value, [isSensitive, by, isReversed]: readonly (Value | undefined)[]): Value {
  if (value instanceof Undefined) return value.fail()
  if (!(value instanceof Dict)) throw new TemplateError('dictsort takes a mapping')
  const part = printedOr(by, 'key')
  if (part !== 'key' && part !== 'value')
    throw new TemplateError('You can only sort by either "key" or "value"')
  const at = part === 'key' ? 0 : 1
  const key = (item: Value) => {
    const own = (item as Tuple).items[at] ?? null
    return flag(isSensitive) ? own : ignoreCase(own)
  }
  return sorted(
    [...value.entries()].map(entry => new Tuple(entry)),
    key,
    flag(isReversed),
  )
}

function* dictItems(value: Value): Generator<Value> {
  if (value instanceof Undefined) return
  if (!(value instanceof Dict)) throw new TemplateError('Can only get item pairs from a mapping.')
  for (const entry of value.entries()) yield new Tuple(entry)
}

function sortKey(
  attribute: Value | undefined,
  isSensitive: boolean,
  runtime: Runtime,
): (item: Value) => Value {
  const names = attribute !== undefined && isText(attribute) ? textOf(attribute).split(',') : [attribute]
  const getters = names.map(name => attributeGetter(name, runtime))
  return item => new Tuple(getters.map(get => (isSensitive ? get(item) : ignoreCase(get(item)))))
}

export const SEQUENCE_FILTERS: readonly [string, Filter][] = [
  define('batch', ['linecount', 'fill_with'], (value, [size, fill]) =>
    stream(batches(value, integerArgument('batch', required('batch', 'linecount', size)), fill)),
  ),
  ...['count', 'length'].map(name => define(name, [], length)),
  define('dictsort', ['case_sensitive', 'by', 'reverse'], sortedDict),
  define('first', [], value => {
    const next = iterate(value).next()
    return next.done === true ? new Undefined('No first item, sequence was empty.') : next.value
  }),
  define('groupby', ['attribute', 'default', 'case_sensitive'], groups),
  define('items', [], value => stream(dictItems(value))),
  define('join', ['d', 'attribute'], (value, [separator, attribute], runtime) => {
    const by = printedOr(separator, '')
    const get = attributeGetter(attribute, runtime)
    const texts = [...each(value)].map(item => printed(get(item)))
    runtime.budget.text(texts.reduce((sum, text) => sum + text.length + by.length, 0))
    return texts.join(by)
  }),
  define('last', [], last),
  define('list', [], (value, _given, { budget }) => {
    const items = listOf(value)
    budget.list(items.length)
    return [...items]
  }),
  extreme('max', 1),
  extreme('min', -1),
  define('random', [], () => {
    throw new TemplateError('the filter random has no fixed output')
  }),
  define('reverse', [], reversed),
  define('slice', ['slices', 'fill_with'], (value, [count, fill]) =>
    stream(slices(value, integerArgument('slice', required('slice', 'slices', count)), fill)),
  ),
  define(
    'sort',
    ['reverse', 'case_sensitive', 'attribute'],
    (value, [isReversed, sensitive, attribute], runtime) =>
      sorted(listOf(value), sortKey(attribute, flag(sensitive), runtime), flag(isReversed)),
  ),
  define('sum', ['attribute', 'start'], (value, [attribute, start], runtime) => {
    const get = attributeGetter(attribute, runtime)
    if (start !== undefined && isText(start)) throw new TemplateError("sum() can't sum strings")
    let total = orElse(start, () => 0n)
    for (const item of each(value)) total = binary('+', total, get(item), runtime)
    return total
  }),
  define('unique', ['case_sensitive', 'attribute'], (value, [isSensitive, attribute], runtime) => {
    const get = attributeGetter(attribute, runtime)
    return stream(unique(value, item => (flag(isSensitive) ? get(item) : ignoreCase(get(item)))))
  }),
]
