/** Parses operands: names, literals, calls, subscripts, filters and tests. */
import { TemplateError } from '../errors.ts'
import { FILTERS } from '../filters/table.ts'
import { TESTS } from '../tests.ts'
import type { ArgumentNodes, Expression, Filter } from './nodes.ts'
import type { TokenStream } from './token-stream.ts'
import { describe } from './tokens.ts'

const NO_ARGUMENTS: ArgumentNodes = { positional: [], named: [], rest: undefined, restNamed: undefined }

export type TupleOptions = {
  allowsCondition?: boolean
  /** Names that end the tuple. */ ends?: readonly string[]
  /** Whether an empty tuple is possible, as between parentheses. */ allowsEmpty?: boolean
}

export abstract class OperandParser {
  readonly stream: TokenStream
  /**
   * Whether the expression is part of an `if`. Jinja2 reports an unknown filter or test there only when it
   * is evaluated.
   */
  isConditional = false
  /** Unknown filters and tests. */
  protected readonly unknown: TemplateError[] = []

  constructor(stream: TokenStream) {
    this.stream = stream
  }

  /** Throws for the first unknown filter or test. */
  checkNames(): void {
    const [error] = this.unknown
    if (error) throw error
  }

  #checkName(what: 'filter' | 'test', names: ReadonlyMap<string, unknown>, name: string, line: number): void {
    if (!names.has(name) && !this.isConditional)
      this.unknown.push(new TemplateError(`No ${what} named '${name}'.`, line))
  }

  primary(): Expression {
    const { stream } = this
    const token = stream.current
    const { line } = token
    switch (token.kind) {
      case 'name':
        stream.next()
        return nameOrConstant(token.text, line)
      case 'string': {
        let text = ''
        while (stream.current.kind === 'string') text += stream.next().text
        return { kind: 'constant', value: text, line }
      }
      case 'integer':
      case 'float':
        stream.next()
        return { kind: 'constant', value: token.value, line }
      default:
    }
    if (stream.skipOperator('(')) {
      const value = this.tuple({ allowsEmpty: true })
      stream.expectOperator(')')
      return value
    }
    if (stream.skipOperator('[')) return { kind: 'list', items: this.#listItems(), line }
    if (stream.skipOperator('{')) return this.#dict(line)
    return stream.fail(`unexpected ${describe(token)}`)
  }

  #listItems(): Expression[] {
    const items: Expression[] = []
    while (!this.stream.isOperator(']')) {
      if (items.length > 0) this.stream.expectOperator(',')
      if (this.stream.isOperator(']')) break
      items.push(this.expression())
    }
    this.stream.expectOperator(']')
    return items
  }

  #dict(line: number): Expression {
    const { stream } = this
    const items: { key: Expression; value: Expression }[] = []
    while (!stream.isOperator('}')) {
      if (items.length > 0) stream.expectOperator(',')
      if (stream.isOperator('}')) break
      const key = this.expression()
      stream.expectOperator(':')
      items.push({ key, value: this.expression() })
    }
    stream.expectOperator('}')
    return { kind: 'dict', items, line }
  }

  protected postfix(start: Expression): Expression {
    const { stream } = this
    let value = start
    for (;;) {
      const { line } = stream
      if (stream.skipOperator('.')) value = this.#member(value, line)
      else if (stream.skipOperator('[')) value = this.#subscript(value, line)
      else if (stream.isOperator('('))
        value = { kind: 'call', callee: value, args: this.callArguments(), line }
      else return value
    }
  }

  #member(object: Expression, line: number): Expression {
    const token = this.stream.next()
    if (token.kind === 'name') return { kind: 'attribute', object, name: token.text, line }
    if (token.kind !== 'integer') return this.stream.fail('expected name or number', token.line)
    return { kind: 'item', object, key: { kind: 'constant', value: token.value, line }, line }
  }

  #subscript(object: Expression, line: number): Expression {
    const { stream } = this
    if (stream.skipOperator(']'))
      return { kind: 'item', object, key: { kind: 'tuple', items: [], line }, line }
    const start = stream.isOperator(':') ? undefined : this.expression()
    if (stream.skipOperator(':')) return this.#slice(object, start, line)
    const keys = start ? [start] : []
    while (stream.skipOperator(',')) keys.push(this.expression())
    stream.expectOperator(']')
    const [key] = keys
    return {
      kind: 'item',
      object,
      key: keys.length === 1 && key ? key : { kind: 'tuple', items: keys, line },
      line,
    }
  }

  #slice(object: Expression, start: Expression | undefined, line: number): Expression {
    const { stream } = this
    const part = () => (stream.isOperator(':', ']') ? undefined : this.expression())
    const stop = part()
    const step = stream.skipOperator(':') ? part() : undefined
    stream.expectOperator(']')
    return { kind: 'slice', object, start, stop, step, line }
  }

  protected filters(start: Expression): Expression {
    const { stream } = this
    let value = start
    for (;;) {
      const { line } = stream
      if (stream.skipOperator('|')) value = this.filter(value)
      else if (stream.skipName('is')) value = this.#test(value, line)
      else if (stream.isOperator('('))
        value = { kind: 'call', callee: value, args: this.callArguments(), line }
      else return value
    }
  }

  /** The name and arguments of one filter. */
  filter(value: Expression | undefined): Filter {
    const { line } = this.stream
    const name = this.#dottedName()
    this.#checkName('filter', FILTERS, name, line)
    const args = this.stream.isOperator('(') ? this.callArguments() : NO_ARGUMENTS
    return { kind: 'filter', value, name, args, line }
  }

  #dottedName(): string {
    let name = this.stream.expectName().text
    while (this.stream.skipOperator('.')) name += `.${this.stream.expectName().text}`
    return name
  }

  #test(value: Expression, line: number): Expression {
    const isNegated = this.stream.skipName('not')
    const name = this.#dottedName()
    this.#checkName('test', TESTS, name, line)
    const test: Expression = { kind: 'test', value, name, args: this.#testArguments(), line }
    return isNegated ? { kind: 'not', value: test, line } : test
  }

  /** A test takes one argument without parentheses. */
  #testArguments(): ArgumentNodes {
    const { stream } = this
    if (stream.isOperator('(')) return this.callArguments()
    const startsValue =
      ['name', 'string', 'integer', 'float'].includes(stream.current.kind) || stream.isOperator('[', '{')
    if (!startsValue || stream.isName('else', 'or', 'and')) return NO_ARGUMENTS
    if (stream.isName('is')) stream.fail('You cannot chain multiple tests with is')
    return { ...NO_ARGUMENTS, positional: [this.postfix(this.primary())] }
  }

  callArguments(): ArgumentNodes {
    const { stream } = this
    const { line } = stream.expectOperator('(')
    const positional: Expression[] = []
    const named: { name: string; value: Expression }[] = []
    let rest: Expression | undefined
    let restNamed: Expression | undefined
    const check = (isValid: boolean) => {
      if (!isValid) stream.fail('invalid syntax for function call expression', line)
    }
    let isFirst = true
    while (!stream.isOperator(')')) {
      if (!isFirst) stream.expectOperator(',')
      if (stream.isOperator(')')) break
      isFirst = false
      if (stream.skipOperator('*')) {
        check(rest === undefined && restNamed === undefined)
        rest = this.expression()
      } else if (stream.skipOperator('**')) {
        check(restNamed === undefined)
        restNamed = this.expression()
      } else if (stream.current.kind === 'name' && stream.isNext('operator', '=')) {
        check(restNamed === undefined)
        const name = stream.next().text
        stream.next()
        named.push({ name, value: this.expression() })
      } else {
        check(rest === undefined && restNamed === undefined && named.length === 0)
        positional.push(this.expression())
      }
    }
    stream.expectOperator(')')
    return { positional, named, rest, restNamed }
  }

  abstract expression(allowsCondition?: boolean): Expression

  abstract tuple(options?: TupleOptions): Expression
}

function nameOrConstant(name: string, line: number): Expression {
  switch (name) {
    case 'true':
    case 'True':
      return { kind: 'constant', value: true, line }
    case 'false':
    case 'False':
      return { kind: 'constant', value: false, line }
    case 'none':
    case 'None':
      return { kind: 'constant', value: null, line }
    default:
      return { kind: 'name', name, line }
  }
}
