/** Parses expressions, with Jinja2's precedence. */
import type { BinaryOperator, CompareOperator, Expression } from './nodes.ts'
import { OperandParser, type TupleOptions } from './operand-parser.ts'
import { describe } from './tokens.ts'

const COMPARE_OPERATORS: readonly string[] = ['==', '!=', '<', '<=', '>', '>=']

export class ExpressionParser extends OperandParser {
  override expression(allowsCondition = true): Expression {
    return allowsCondition ? this.#condition() : this.#or()
  }

  override tuple({ allowsCondition = true, ends = [], allowsEmpty = false }: TupleOptions = {}): Expression {
    const { stream } = this
    const { line } = stream
    const items: Expression[] = []
    let isTuple = false
    for (;;) {
      if (items.length > 0) stream.expectOperator(',')
      if (this.isTupleEnd(ends)) break
      items.push(this.expression(allowsCondition))
      if (!stream.isOperator(',')) break
      isTuple = true
    }
    const [first] = items
    if (!isTuple && first) return first
    if (!isTuple && !allowsEmpty) stream.fail(`expected an expression, got ${describe(stream.current)}`)
    return { kind: 'tuple', items, line }
  }

  isTupleEnd(ends: readonly string[]): boolean {
    const { kind } = this.stream.current
    return (
      kind === 'variable_end' ||
      kind === 'block_end' ||
      this.stream.isOperator(')') ||
      this.stream.isName(...ends)
    )
  }

  #condition(): Expression {
    const { stream } = this
    let { line } = stream
    const known = this.unknown.length
    let value = this.#or()
    while (stream.skipName('if')) {
      this.unknown.length = known
      const before = this.isConditional
      this.isConditional = true
      const test = this.#or()
      const otherwise = stream.skipName('else') ? this.#condition() : undefined
      this.isConditional = before
      value = { kind: 'condition', test, value, otherwise, line }
      line = stream.line
    }
    return value
  }

  #or(): Expression {
    const { line } = this.stream
    let left = this.#and()
    while (this.stream.skipName('or')) left = { kind: 'or', left, right: this.#and(), line }
    return left
  }

  #and(): Expression {
    const { line } = this.stream
    let left = this.#not()
    while (this.stream.skipName('and')) left = { kind: 'and', left, right: this.#not(), line }
    return left
  }

  #not(): Expression {
    const { line } = this.stream
    return this.stream.skipName('not') ? { kind: 'not', value: this.#not(), line } : this.#compare()
  }

  #compare(): Expression {
    const { line } = this.stream
    const first = this.#sum()
    const rest: { operator: CompareOperator; value: Expression }[] = []
    for (let operator = this.#compareOperator(); operator; operator = this.#compareOperator())
      rest.push({ operator, value: this.#sum() })
    return rest.length === 0 ? first : { kind: 'compare', first, rest, line }
  }

  #compareOperator(): CompareOperator | undefined {
    const { stream } = this
    if (stream.isOperator(...COMPARE_OPERATORS)) return stream.next().text as CompareOperator
    if (stream.skipName('in')) return 'in'
    if (!stream.isName('not') || !stream.isNext('name', 'in')) return undefined
    stream.next()
    stream.next()
    return 'not in'
  }

  #binary(operators: readonly string[], operand: () => Expression): Expression {
    const { stream } = this
    const { line } = stream
    let left = operand()
    while (stream.isOperator(...operators)) {
      const operator = stream.next().text as BinaryOperator
      left = { kind: 'binary', operator, left, right: operand(), line }
    }
    return left
  }

  #sum(): Expression {
    return this.#binary(['+', '-'], () => this.#concat())
  }

  #concat(): Expression {
    const { line } = this.stream
    const parts = [this.#product()]
    while (this.stream.skipOperator('~')) parts.push(this.#product())
    const [first] = parts
    return parts.length === 1 && first ? first : { kind: 'concat', parts, line }
  }

  #product(): Expression {
    return this.#binary(['*', '/', '//', '%'], () => this.#power())
  }

  /** Jinja2 computes powers from the left, unlike Python. */
  #power(): Expression {
    return this.#binary(['**'], () => this.#unary(true))
  }

  #unary(allowsFilter: boolean): Expression {
    const { stream } = this
    const { line } = stream
    let value: Expression
    if (stream.skipOperator('-')) value = { kind: 'negative', value: this.#unary(false), line }
    else if (stream.skipOperator('+')) value = { kind: 'positive', value: this.#unary(false), line }
    else value = this.primary()
    value = this.postfix(value)
    return allowsFilter ? this.filters(value) : value
  }
}
