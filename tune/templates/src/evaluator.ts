/** Evaluates expressions. */
import { attributeOf, subscript } from './attributes.ts'
import type { Budget } from './budget.ts'
import { TemplateError } from './errors.ts'
import { FILTERS } from './filters/table.ts'
import { GLOBALS } from './globals.ts'
import { compare, equals, truth } from './comparison.ts'
import { binary, negative, positive } from './operations.ts'
import type { Runtime } from './values.ts'
import type { Scope } from './scope.ts'
import { contains, listOf, slice } from './sequences.ts'
import type { ArgumentNodes, CompareOperator, Expression, Filter } from './syntax/nodes.ts'
import { TESTS } from './tests.ts'
import { printed } from './text/print.ts'
import {
  Dict,
  PythonObject,
  Tuple,
  Undefined,
  isText,
  orElse,
  textOf,
  typeName,
  type Arguments,
  type Value,
} from './values.ts'

export class Evaluator implements Runtime {
  readonly budget: Budget
  readonly now: () => Date

  constructor(budget: Budget, now: () => Date) {
    this.budget = budget
    this.now = now
  }

  attribute(object: Value, name: string): Value {
    return attributeOf(object, name, this)
  }

  callFilter(name: string, value: Value, args: Arguments): Value {
    const filter = FILTERS.get(name)
    if (!filter) throw new TemplateError(`No filter named '${name}'.`)
    return filter(value, args, this)
  }

  callTest(name: string, value: Value, args: Arguments): boolean {
    const test = TESTS.get(name)
    if (!test) throw new TemplateError(`No test named '${name}'.`)
    return test(value, args, this)
  }

  call(callee: Value, args: Arguments): Value {
    if (callee instanceof Undefined) return callee.fail()
    const run = callee instanceof PythonObject ? callee.call : undefined
    if (!run) throw new TemplateError(`'${typeName(callee)}' object is not callable`)
    return run(args, this)
  }

  evaluate(node: Expression, scope: Scope): Value {
    this.budget.spend(1)
    switch (node.kind) {
      case 'constant':
        return node.value
      case 'name':
        return orElse(scope.get(node.name), () =>
          orElse(GLOBALS.get(node.name), () => new Undefined(`'${node.name}' is undefined`)),
        )
      case 'attribute':
        return attributeOf(this.evaluate(node.object, scope), node.name, this)
      case 'item':
        return subscript(this.evaluate(node.object, scope), this.evaluate(node.key, scope), this)
      case 'slice': {
        const object = this.evaluate(node.object, scope)
        const part = (one: Expression | undefined) => one && this.evaluate(one, scope)
        const made = slice(object, { start: part(node.start), stop: part(node.stop), step: part(node.step) })
        this.#spendFor(made)
        return made
      }
      case 'call': {
        const callee = this.evaluate(node.callee, scope)
        const made = this.call(callee, this.arguments(node.args, scope))
        this.#spendFor(made)
        return made
      }
      case 'filter':
        if (!node.value) throw new Error('[evaluate] a filter of a block has no value')
        return this.filtered(node, this.evaluate(node.value, scope), scope)
      case 'test':
        return this.callTest(node.name, this.evaluate(node.value, scope), this.arguments(node.args, scope))
      case 'not':
        return !truth(this.evaluate(node.value, scope))
      case 'negative':
        return negative(this.evaluate(node.value, scope))
      case 'positive':
        return positive(this.evaluate(node.value, scope))
      case 'and': {
        const left = this.evaluate(node.left, scope)
        return truth(left) ? this.evaluate(node.right, scope) : left
      }
      case 'or': {
        const left = this.evaluate(node.left, scope)
        return truth(left) ? left : this.evaluate(node.right, scope)
      }
      case 'binary':
        return binary(node.operator, this.evaluate(node.left, scope), this.evaluate(node.right, scope), this)
      case 'concat':
        return this.#concat(node.parts, scope)
      case 'compare':
        return this.#compare(node.first, node.rest, scope)
      case 'condition':
        if (truth(this.evaluate(node.test, scope))) return this.evaluate(node.value, scope)
        return node.otherwise
          ? this.evaluate(node.otherwise, scope)
          : new Undefined(`the condition on line ${node.line} is false, and its expression has no else`)
      case 'list':
        return node.items.map(item => this.evaluate(item, scope))
      case 'tuple':
        return new Tuple(node.items.map(item => this.evaluate(item, scope)))
      case 'dict':
        return new Dict(
          node.items.map(({ key, value }) => [this.evaluate(key, scope), this.evaluate(value, scope)]),
        )
    }
  }

  /** Charges for a text that a function has made or a list that it has copied. */
  #spendFor(made: Value): void {
    if (isText(made)) this.budget.text(textOf(made).length)
    else if (Array.isArray(made)) this.budget.list(made.length)
  }

  /** The value of a filter node, of which `value` is the text of a block or another value. */
  filtered(node: Filter, value: Value, scope: Scope): Value {
    const made = this.callFilter(node.name, value, this.arguments(node.args, scope))
    this.#spendFor(made)
    return made
  }

  /** Filters of a block, of which the innermost takes the text. */
  filterText(node: Filter, text: string, scope: Scope): Value {
    const { value } = node
    const inner = value?.kind === 'filter' ? this.filterText(value, text, scope) : text
    return this.filtered(node, inner, scope)
  }

  #concat(parts: readonly Expression[], scope: Scope): string {
    const texts = parts.map(part => printed(this.evaluate(part, scope)))
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    this.budget.text(length, length - Math.max(...texts.map(text => text.length)))
    return texts.reduce((all, text) => all + text, '')
  }

  #compare(
    first: Expression,
    rest: readonly { operator: CompareOperator; value: Expression }[],
    scope: Scope,
  ): boolean {
    let left = this.evaluate(first, scope)
    for (const { operator, value } of rest) {
      const right = this.evaluate(value, scope)
      if (!holds(operator, left, right)) return false
      left = right
    }
    return true
  }

  arguments(nodes: ArgumentNodes, scope: Scope): Arguments {
    const positional = nodes.positional.map(node => this.evaluate(node, scope))
    const named = new Map<string, Value>()
    const add = (name: string, value: Value) => {
      if (named.has(name)) throw new TemplateError(`got multiple values for keyword argument '${name}'`)
      named.set(name, value)
    }
    for (const { name, value } of nodes.named) add(name, this.evaluate(value, scope))
    if (nodes.rest) positional.push(...listOf(this.evaluate(nodes.rest, scope)))
    if (nodes.restNamed) {
      const given = this.evaluate(nodes.restNamed, scope)
      if (!(given instanceof Dict)) throw new TemplateError('argument after ** must be a mapping')
      for (const [name, value] of given.entries()) add(printed(name), value)
    }
    return { positional, named }
  }
}

function holds(operator: CompareOperator, left: Value, right: Value): boolean {
  switch (operator) {
    case '==':
      return equals(left, right)
    case '!=':
      return !equals(left, right)
    case 'in':
      return contains(right, left)
    case 'not in':
      return !contains(right, left)
    case '<':
      return compare(left, right, operator) < 0
    case '<=':
      return compare(left, right, operator) <= 0
    case '>':
      return compare(left, right, operator) > 0
    case '>=':
      return compare(left, right, operator) >= 0
  }
}
