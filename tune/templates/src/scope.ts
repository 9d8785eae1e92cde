/** Variables. Each loop turn, macro call and similar block has a scope inside that of its surroundings. */
import type { Value } from './values.ts'

export class Scope {
  readonly #values = new Map<string, Value>()
  readonly #parent: Scope | undefined

  constructor(parent?: Scope) {
    this.#parent = parent
  }

  /** Undefined for an unknown name. */
  get(name: string): Value | undefined {
    const value = this.#values.get(name)
    return value === undefined ? this.#parent?.get(name) : value
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value)
  }
}
