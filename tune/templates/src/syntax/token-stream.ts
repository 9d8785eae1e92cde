/** Reads tokens one by one. */
import { TemplateError } from '../errors.ts'
import { describe, type Token } from './tokens.ts'

export class TokenStream {
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get current(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '', line: 1 }
  }

  get line(): number {
    return this.current.line
  }

  next(): Token {
    const token = this.current
    if (token.kind !== 'end') this.#at++
    return token
  }

  isOperator(...operators: readonly string[]): boolean {
    return this.current.kind === 'operator' && operators.includes(this.current.text)
  }

  isName(...names: readonly string[]): boolean {
    return this.current.kind === 'name' && names.includes(this.current.text)
  }

  /** Whether the token behind the current one has this text and kind. */
  isNext(kind: 'name' | 'operator', text: string): boolean {
    const token = this.#tokens[this.#at + 1]
    return token?.kind === kind && token.text === text
  }

  skipOperator(operator: string): boolean {
    if (!this.isOperator(operator)) return false
    this.#at++
    return true
  }

  skipName(name: string): boolean {
    if (!this.isName(name)) return false
    this.#at++
    return true
  }

  expectOperator(operator: string): Token {
    if (!this.isOperator(operator)) this.fail(`expected '${operator}', got ${describe(this.current)}`)
    return this.next()
  }

  expectName(name?: string): Token {
    const isExpected = name === undefined ? this.current.kind === 'name' : this.isName(name)
    if (!isExpected) this.fail(`expected ${name ?? 'a name'}, got ${describe(this.current)}`)
    return this.next()
  }

  expectEnd(kind: 'variable_end' | 'block_end'): void {
    if (this.current.kind !== kind)
      this.fail(`expected ${kind === 'block_end' ? '%}' : '}}'}, got ${describe(this.current)}`)
    this.next()
  }

  fail(message: string, line = this.line): never {
    throw new TemplateError(message, line)
  }
}
