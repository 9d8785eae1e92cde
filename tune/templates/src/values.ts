/**
 * The values of a template, which are Python's. An int is a bigint and a float is a number, so that `1` and
 * `1.0` stay apart. A list is an array.
 */
import { TemplateError } from './errors.ts'
import type { Budget } from './budget.ts'

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Value[]
  | Markup
  | Tuple
  | Dict
  | Range
  | DictView
  | Stream
  | Undefined
  | PythonObject

/** A `str` that counts as escaped, as the filters `safe` and `escape` return it. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export class Tuple {
  readonly items: readonly Value[]
  /** Attributes that give the items by name, for a named tuple. */
  readonly names: readonly string[]

  constructor(items: readonly Value[], names: readonly string[] = []) {
    this.items = items
    this.names = names
  }
}

type Key = string | bigint | number | null

/** Keys that Python takes for equal give the same key of a Map. Undefined for a value without a hash. */
export function keyOf(value: Value): Key | undefined {
  if (typeof value === 'string' || value === null) return value
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value
  if (value instanceof Markup) return value.text
  // All undefined values are equal. The noncharacter keeps their key apart from every text.
  if (value instanceof Undefined) return '\u{ffff}'
  if (value instanceof Tuple) {
    const keys = value.items.map(keyOf)
    return keys.includes(undefined)
      ? undefined
      : `\u{ffff}${keys.map(key => `${typeof key} ${key}`).join('\u{ffff}')}`
  }
  return undefined
}

/** A dict, in the order of insertion. */
export class Dict {
  readonly #items = new Map<Key, [Value, Value]>()

  constructor(items: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of items) this.set(key, value)
  }

  get size(): number {
    return this.#items.size
  }

  get(key: Value): Value | undefined {
    const found = keyOf(key)
    return found === undefined ? undefined : this.#items.get(found)?.[1]
  }

  has(key: Value): boolean {
    const found = keyOf(key)
    if (found === undefined && !(key instanceof PythonObject))
      throw new TemplateError(`unhashable type: '${typeName(key)}'`)
    return found !== undefined && this.#items.has(found)
  }

  /** For building a dict; a template cannot change one. */
  set(key: Value, value: Value): void {
    const found = keyOf(key)
    if (found === undefined) throw new TemplateError(`unhashable type: '${typeName(key)}'`)
    // An equal key that is there already keeps its first form, like `1` and `True`.
    const known = this.#items.get(found)
    this.#items.set(found, [known ? known[0] : key, value])
  }

  entries(): IterableIterator<[Value, Value]> {
    return this.#items.values()
  }

  *keys(): IterableIterator<Value> {
    for (const [key] of this.#items.values()) yield key
  }
}

export class Range {
  readonly start: bigint
  readonly stop: bigint
  readonly step: bigint

  constructor(start: bigint, stop: bigint, step: bigint) {
    this.start = start
    this.stop = stop
    this.step = step
  }

  get length(): number {
    const { start, stop, step } = this
    const span = step > 0n ? stop - start + step - 1n : start - stop - step - 1n
    const count = span / (step > 0n ? step : -step)
    return count > 0n ? Number(count) : 0
  }

  at(index: number): bigint {
    return this.start + BigInt(index) * this.step
  }
}

/** What `keys`, `values` and `items` of a dict return. */
export class DictView {
  readonly dict: Dict
  readonly part: 'keys' | 'values' | 'items'

  constructor(dict: Dict, part: 'keys' | 'values' | 'items') {
    this.dict = dict
    this.part = part
  }

  get items(): Value[] {
    if (this.part === 'keys') return [...this.dict.keys()]
    const entries = [...this.dict.entries()]
    return this.part === 'values' ? entries.map(([, value]) => value) : entries.map(entry => new Tuple(entry))
  }
}

/** An iterator, which can be read once and has no length, such as the result of the filter `map`. */
export class Stream {
  readonly typeName: string
  readonly iterator: Iterator<Value>

  constructor(iterator: Iterator<Value>, type = 'generator') {
    this.iterator = iterator
    this.typeName = type
  }
}

/** A variable, attribute or item that does not exist. */
export class Undefined {
  readonly message: string

  constructor(message: string) {
    this.message = message
  }

  fail(): never {
    throw new TemplateError(this.message)
  }
}

export type Arguments = { positional: readonly Value[]; named: ReadonlyMap<string, Value> }

/** Every other object: a namespace, a function, the variable `loop`. */
export abstract class PythonObject {
  abstract readonly typeName: string

  /** Undefined for an unknown name. */
  attribute(_name: string, _runtime: Runtime): Value | undefined {
    return undefined
  }

  /** The result of a call, for objects that can be called. */
  readonly call: ((args: Arguments, runtime: Runtime) => Value) | undefined = undefined

  /** The text of the object. Undefined if Python would show an address in memory. */
  get shown(): string | undefined {
    return undefined
  }

  get length(): number | undefined {
    return undefined
  }
}

export class PythonFunction extends PythonObject {
  readonly typeName: string
  readonly name: string
  override readonly call: (args: Arguments, runtime: Runtime) => Value

  constructor(name: string, call: (args: Arguments, runtime: Runtime) => Value, type = 'function') {
    super()
    this.name = name
    this.call = call
    this.typeName = type
  }
}

export const isText = (value: Value): value is string | Markup =>
  typeof value === 'string' || value instanceof Markup

/** The characters of a `str`, which `isText` is true for. */
export const textOf = (value: string | Markup): string => (typeof value === 'string' ? value : value.text)

/** The value, or another one if there is none. Unlike `??`, it keeps null, which is Python's None. */
export const orElse = (value: Value | undefined, other: () => Value): Value =>
  value === undefined ? other() : value

/** The name of a value's type in Python. */
export function typeName(value: Value): string {
  if (value === null) return 'NoneType'
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'bigint':
      return 'int'
    case 'number':
      return 'float'
    case 'string':
      return 'str'
    default:
  }
  if (Array.isArray(value)) return 'list'
  if (value instanceof Dict) return 'dict'
  if (value instanceof Tuple) return 'tuple'
  if (value instanceof Markup) return 'Markup'
  if (value instanceof Range) return 'range'
  if (value instanceof DictView) return `dict_${value.part}`
  if (value instanceof Undefined) return 'Undefined'
  return value.typeName
}

/** The value as `'dict object'`, or `None`, as messages about undefined values name it. */
export function describeObject(value: Value): string {
  return value === null ? 'None' : `${typeName(value)} object`
}

/** What functions, filters and tests may use while a template runs. */
export type Runtime = {
  budget: Budget
  /** The time of `strftime_now`. */
  now: () => Date
  /** `object.name`. */
  attribute: (object: Value, name: string) => Value
  callFilter: (name: string, value: Value, args: Arguments) => Value
  callTest: (name: string, value: Value, args: Arguments) => boolean
}
