/** Iteration, length, membership, items and slices, which are Python's. */
import { TemplateError } from './errors.ts'
import { equals } from './comparison.ts'
import {
  Dict,
  DictView,
  Markup,
  Range,
  Stream,
  Tuple,
  Undefined,
  isText,
  keyOf,
  textOf,
  typeName,
  type Value,
} from './values.ts'

const SURROGATE = /[\ud800-\udfff]/

/** The characters of a text, which are code points. */
export const charactersOf = (text: string): string[] => (SURROGATE.test(text) ? [...text] : text.split(''))

export const textLength = (text: string): number => (SURROGATE.test(text) ? [...text].length : text.length)

/** Items of a value that has all of them at hand. Undefined for an iterator, and for what has no items. */
export function itemsOf(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  if (value instanceof Tuple) return value.items
  if (typeof value === 'string') return charactersOf(value)
  if (value instanceof Markup) return charactersOf(value.text)
  if (value instanceof Dict) return [...value.keys()]
  if (value instanceof DictView) return value.items
  if (value instanceof Range) return Array.from({ length: value.length }, (_, i) => value.at(i))
  return value instanceof Undefined ? [] : undefined
}

function* integersOf(range: Range): Generator<Value> {
  for (let i = 0; i < range.length; i++) yield range.at(i)
}

/** Undefined if the value is not iterable. */
export function iteratorOf(value: Value): Iterator<Value> | undefined {
  if (value instanceof Stream) return value.iterator
  if (value instanceof Range) return integersOf(value)
  return itemsOf(value)?.[Symbol.iterator]()
}

export function iterate(value: Value): Iterator<Value> {
  const iterator = iteratorOf(value)
  if (!iterator) throw new TemplateError(`'${typeName(value)}' object is not iterable`)
  return iterator
}

/** `list(value)`, which reads an iterator to its end. The result may be the value itself. */
export function listOf(value: Value): readonly Value[] {
  const items = itemsOf(value)
  if (items) return items
  const iterator = iterate(value)
  const list: Value[] = []
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) list.push(next.value)
  return list
}

/** `len(value)`, or undefined if it has none. */
export function lengthOf(value: Value): number | undefined {
  if (isText(value)) return textLength(textOf(value))
  if (Array.isArray(value)) return value.length
  if (value instanceof Dict) return value.size
  if (value instanceof Tuple) return value.items.length
  if (value instanceof DictView) return value.dict.size
  if (value instanceof Range) return value.length
  if (value instanceof Undefined) return 0
  return value !== null && typeof value === 'object' && 'length' in value ? value.length : undefined
}

export function length(value: Value): bigint {
  const count = lengthOf(value)
  if (count === undefined) throw new TemplateError(`object of type '${typeName(value)}' has no len()`)
  return BigInt(count)
}

/** `item in container`. */
export function contains(container: Value, item: Value): boolean {
  if (isText(container)) {
    if (isText(item)) return textOf(container).includes(textOf(item))
    throw new TemplateError(`'in <string>' requires string as left operand, not ${typeName(item)}`)
  }
  if (container instanceof Dict) return container.has(item)
  if (container instanceof DictView && container.part === 'keys') return container.dict.has(item)
  if (container instanceof Range) return listOf(container).some(one => equals(one, item))
  const iterator = iteratorOf(container)
  if (!iterator) throw new TemplateError(`argument of type '${typeName(container)}' is not iterable`)
  for (let next = iterator.next(); next.done !== true; next = iterator.next())
    if (equals(next.value, item)) return true
  return false
}

/** `object[key]`, or undefined where Python raises TypeError or LookupError. */
export function itemAt(object: Value, key: Value): Value | undefined {
  if (object instanceof Undefined) return object.fail()
  if (object instanceof Dict) return keyOf(key) === undefined ? undefined : object.get(key)
  const index = typeof key === 'boolean' ? BigInt(key) : key
  if (typeof index !== 'bigint') return undefined
  if (typeof object === 'string') {
    if (index >= 0n && !SURROGATE.test(object)) return object[Number(index)]
    return charactersOf(object).at(Number(index))
  }
  if (object instanceof DictView) return undefined
  if (object instanceof Markup) {
    const char = charactersOf(object.text).at(Number(index))
    return char === undefined ? undefined : new Markup(char)
  }
  return itemsOf(object)?.at(Number(index))
}

/** A bound of a slice. Undefined for none. */
function boundOf(value: Value | undefined): number | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'bigint') return Number(value)
  throw new TemplateError('slice indices must be integers or None')
}

type Bounds = { start: Value | undefined; stop: Value | undefined; step: Value | undefined }

/** `object[start:stop:step]`. */
export function slice(object: Value, { start, stop, step }: Bounds): Value {
  if (object instanceof Undefined) return object.fail()
  const by = boundOf(step) ?? 1
  if (by === 0) throw new TemplateError('slice step cannot be zero')
  const pick = <T>(items: readonly T[]): T[] => {
    const count = items.length
    const clamp = (bound: number, min: number, max: number) =>
      Math.min(Math.max(bound < 0 ? bound + count : bound, min), max)
    const from = clamp(boundOf(start) ?? (by > 0 ? 0 : count), by > 0 ? 0 : -1, by > 0 ? count : count - 1)
    const to = boundOf(stop)
    const end =
      to === undefined ? (by > 0 ? count : -1) : clamp(to, by > 0 ? 0 : -1, by > 0 ? count : count - 1)
    if (by === 1) return items.slice(from, end)
    const picked: T[] = []
    for (let at = from; by > 0 ? at < end : at > end; at += by) {
      const item = items[at]
      if (item !== undefined) picked.push(item)
    }
    return picked
  }
  if (isText(object)) {
    const text = pick(charactersOf(textOf(object))).join('')
    return object instanceof Markup ? new Markup(text) : text
  }
  if (Array.isArray(object)) return pick(object)
  if (object instanceof Tuple) return new Tuple(pick(object.items))
  if (object instanceof Range) {
    const [first = 0n, second] = pick(listOf(object)) as bigint[]
    const picked = pick(listOf(object))
    const stepOf = second === undefined ? object.step * BigInt(by) : second - first
    return new Range(first, first + stepOf * BigInt(picked.length), stepOf)
  }
  throw new TemplateError(`'${typeName(object)}' object is not subscriptable`)
}
