/** The variable `loop` of a for loop. */
import { TemplateError } from './errors.ts'
import { equals } from './comparison.ts'
import type { Runtime } from './values.ts'
import { iterate, lengthOf, listOf } from './sequences.ts'
import {
  PythonFunction,
  PythonObject,
  Stream,
  Undefined,
  orElse,
  type Arguments,
  type Value,
} from './values.ts'

/** Renders the body of a recursive loop for other items. */
export type Recurse = (items: Value, depth: number) => string

export class Loop extends PythonObject {
  readonly typeName = 'LoopContext'
  readonly #items: Value
  readonly #depth: number
  #iterator: Iterator<Value>
  #index = -1
  #length: number | undefined
  #after: Value | undefined
  #current: Value | undefined
  #before: Value | undefined
  #lastChanged: readonly Value[] | undefined
  override readonly call: ((args: Arguments, runtime: Runtime) => Value) | undefined

  constructor(items: Value, depth: number, recurse: Recurse | undefined) {
    super()
    this.#items = items
    this.#iterator = iterate(items)
    this.#depth = depth
    this.call = ({ positional: [inner] }) => {
      if (!recurse)
        throw new TemplateError("The loop must have the 'recursive' marker to be called recursively.")
      if (inner === undefined) throw new TemplateError('loop() takes the items of the inner loop')
      return recurse(inner, depth + 1)
    }
  }

  /** The next item, or undefined at the end. */
  next(): Value | undefined {
    const item = this.#peek()
    this.#after = undefined
    if (item === undefined) return undefined
    this.#index++
    this.#before = this.#current
    this.#current = item
    return item
  }

  #read(): Value | undefined {
    const next = this.#iterator.next()
    return next.done === true ? undefined : next.value
  }

  #peek(): Value | undefined {
    if (this.#after === undefined) this.#after = this.#read()
    return this.#after
  }

  override get length(): number {
    if (this.#length !== undefined) return this.#length
    let count = lengthOf(this.#items)
    if (count === undefined) {
      const rest = listOf(new Stream(this.#iterator))
      this.#iterator = rest[Symbol.iterator]()
      count = rest.length + this.#index + 1 + Number(this.#after !== undefined)
    }
    this.#length = count
    return count
  }

  override get shown(): string {
    return `<LoopContext ${this.#index + 1}/${this.length}>`
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return BigInt(this.#index + 1)
      case 'index0':
        return BigInt(this.#index)
      case 'revindex':
        return BigInt(this.length - this.#index)
      case 'revindex0':
        return BigInt(this.length - this.#index - 1)
      case 'first':
        return this.#index === 0
      case 'last':
        return this.#peek() === undefined
      case 'length':
        return BigInt(this.length)
      case 'depth':
        return BigInt(this.#depth + 1)
      case 'depth0':
        return BigInt(this.#depth)
      case 'previtem':
        return orElse(this.#before, () => new Undefined('the loop has no previous item'))
      case 'nextitem':
        return orElse(this.#peek(), () => new Undefined('the loop has no next item'))
      case 'cycle':
        return new PythonFunction(name, ({ positional }) => {
          const item = positional[this.#index % positional.length]
          if (item === undefined) throw new TemplateError('no items for cycling given')
          return item
        })
      case 'changed':
        return new PythonFunction(name, ({ positional }) => this.#changed(positional))
      default:
        return undefined
    }
  }

  #changed(values: readonly Value[]): boolean {
    const last = this.#lastChanged
    const isSame =
      last !== undefined &&
      last.length === values.length &&
      last.every((value, i) => equals(value, values[i] ?? null))
    if (!isSame) this.#lastChanged = values
    return !isSame
  }
}
