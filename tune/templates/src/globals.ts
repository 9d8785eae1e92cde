/** The functions that every template of transformers has. */
import { bind, integerArgument, required } from './arguments.ts'
import { RaisedError, TemplateError } from './errors.ts'
import { dictFromKeys } from './methods/container-methods.ts'
import type { Runtime } from './values.ts'
import { listOf } from './sequences.ts'
import { formatTime } from './strftime.ts'
import { printed, repr } from './text/print.ts'
import {
  Dict,
  PythonFunction,
  PythonObject,
  Range,
  Undefined,
  isText,
  textOf,
  type Arguments,
  type Value,
} from './values.ts'

/** An object with attributes that `{% set x.name = … %}` changes. */
export class Namespace extends PythonObject {
  readonly typeName = 'Namespace'
  readonly #values = new Map<string, Value>()

  constructor(values: Iterable<readonly [Value, Value]>) {
    super()
    for (const [name, value] of values) this.set(printed(name), value)
  }

  override attribute(name: string): Value | undefined {
    return this.#values.get(name)
  }

  set(name: string, value: Value): void {
    if (name.startsWith('_'))
      throw new TemplateError(
        `Chat templates cannot store underscore-prefixed attributes on a namespace, but got '${name}'. ` +
          'Please rename the attribute.',
      )
    this.#values.set(name, value)
  }

  override get shown(): string {
    return `<Namespace ${repr(new Dict(this.#values))}>`
  }
}

class Cycler extends PythonObject {
  readonly typeName = 'Cycler'
  readonly #items: readonly Value[]
  #at = 0

  constructor(items: readonly Value[]) {
    super()
    if (items.length === 0) throw new TemplateError('at least one item has to be provided')
    this.#items = items
  }

  override attribute(name: string): Value | undefined {
    const current = this.#items[this.#at] ?? null
    if (name === 'pos') return BigInt(this.#at)
    if (name === 'items') return [...this.#items]
    if (name === 'current') return current
    if (name === 'reset')
      return new PythonFunction(name, () => {
        this.#at = 0
        return null
      })
    if (name !== 'next') return undefined
    return new PythonFunction(name, () => {
      const item = this.#items[this.#at] ?? null
      this.#at = (this.#at + 1) % this.#items.length
      return item
    })
  }
}

/** Returns nothing at its first call and the separator at each later one. */
function joiner(args: Arguments): PythonFunction {
  const [separator = ', '] = bind('joiner', ['sep'], args)
  let isUsed = false
  return new PythonFunction('joiner', () => {
    const text = isUsed ? separator : ''
    isUsed = true
    return text
  })
}

/** `dict(mapping, key=value)`, or pairs for the mapping. */
function dictOf({ positional: [given], named }: Arguments): [Value, Value][] {
  const pairs =
    given === undefined
      ? []
      : given instanceof Dict
        ? [...given.entries()]
        : listOf(given).map((pair): [Value, Value] => {
            const [key, value, ...others] = listOf(pair)
            if (key === undefined || value === undefined || others.length > 0)
              throw new TemplateError('dict() takes pairs of a key and a value')
            return [key, value]
          })
  return [...pairs, ...named]
}

const MAX_RANGE = 100_000

function rangeOf({ positional }: Arguments): Range {
  if (positional.length === 0 || positional.length > 3)
    throw new TemplateError(`range expected 1 to 3 arguments, got ${positional.length}`)
  const [a = 0n, b, c = 1n] = positional.map(value => BigInt(integerArgument('range', value)))
  if (c === 0n) throw new TemplateError('range() arg 3 must not be zero')
  const range = b === undefined ? new Range(0n, a, 1n) : new Range(a, b, c)
  if (range.length > MAX_RANGE)
    throw new TemplateError(`Range too big. The sandbox blocks ranges larger than ${MAX_RANGE}.`)
  return range
}

class DictType extends PythonObject {
  readonly typeName = 'TemplateDict'
  override readonly call = (args: Arguments): Value => new Dict(dictOf(args))

  override attribute(name: string): Value | undefined {
    return name === 'fromkeys'
      ? new PythonFunction(name, args => dictFromKeys(bind(name, ['iterable', 'value'], args)))
      : undefined
  }
}

const define = (
  name: string,
  call: (args: Arguments, runtime: Runtime) => Value,
): [string, PythonFunction] => [name, new PythonFunction(name, call)]

export const GLOBALS: ReadonlyMap<string, Value> = new Map<string, Value>([
  define('range', rangeOf),
  define('namespace', args => new Namespace(dictOf(args))),
  define('cycler', ({ positional }) => new Cycler(positional)),
  define('joiner', joiner),
  define('lipsum', () => {
    throw new TemplateError('lipsum() returns random text, so a template with it has no fixed output')
  }),
  define('raise_exception', args => {
    const [message] = bind('raise_exception', ['message'], args)
    throw new RaisedError(printed(required('raise_exception', 'message', message)))
  }),
  define('strftime_now', (args, runtime) => {
    const [format] = bind('strftime_now', ['format'], args)
    const given = required('strftime_now', 'format', format)
    if (given instanceof Undefined) return given.fail()
    if (!isText(given)) throw new TemplateError('strftime_now() takes a string')
    return formatTime(runtime.now(), textOf(given))
  }),
  ['dict', new DictType()],
])
