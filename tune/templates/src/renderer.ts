/** Runs the statements of a template. */
import { TemplateError } from './errors.ts'
import type { Evaluator } from './evaluator.ts'
import { Namespace } from './globals.ts'
import { Loop } from './loop.ts'
import { Macro, type Bound } from './macro.ts'
import { truth } from './comparison.ts'
import { Output, type Rendered } from './output.ts'
import { Scope } from './scope.ts'
import { iterate, listOf } from './sequences.ts'
import type { Body, Expression, ForLoop, Parameter, Statement, Target } from './syntax/nodes.ts'
import { blocksOf, usedNames } from './syntax/used-names.ts'
import { printed } from './text/print.ts'
import {
  PythonFunction,
  PythonObject,
  Stream,
  Undefined,
  isText,
  orElse,
  textOf,
  typeName,
  type Arguments,
  type Value,
} from './values.ts'

/** How a body ended. */
type End = 'done' | 'break' | 'continue'

export class Renderer {
  readonly #evaluator: Evaluator
  readonly #root: Scope
  #output: Output
  /** What the last macro has rendered, until it is printed. */
  #captured: Rendered | undefined
  /** Marked parts in all that was rendered, of which the output may have lost some. */
  #marked = 0

  constructor(evaluator: Evaluator, root: Scope) {
    this.#evaluator = evaluator
    this.#root = root
    this.#output = new Output(evaluator.budget)
  }

  /** `marks` is undefined if a part was marked whose place in the text is not known. */
  run(body: Body): { text: string; marks: Rendered['marks'] | undefined } {
    this.#addBlocks(body)
    this.#body(body, this.#root)
    const { text, marks } = this.#output.rendered
    return { text, marks: marks.length === this.#marked ? marks : undefined }
  }

  /** The variable `self`, whose attributes render the blocks of the template. */
  #addBlocks(body: Body): void {
    if (!usedNames(body).has('self')) return
    const render = (own: Body) =>
      new PythonFunction('block', () => this.#capture(() => this.#body(own, new Scope(this.#root))))
    const blocks = [...blocksOf(body)].map(([name, own]): [string, PythonFunction] => [name, render(own)])
    this.#root.set('self', new BlockReferences(new Map(blocks)))
  }

  #body(body: Body, scope: Scope): End {
    for (const statement of body) {
      try {
        const end = this.#statement(statement, scope)
        if (end !== 'done') return end
      } catch (error) {
        throw error instanceof TemplateError ? error.at(statement.line) : error
      }
    }
    return 'done'
  }

  #evaluate(node: Expression, scope: Scope): Value {
    return this.#evaluator.evaluate(node, scope)
  }

  #statement(node: Statement, scope: Scope): End {
    switch (node.kind) {
      case 'text':
        this.#output.write(node.text)
        return 'done'
      case 'print':
        this.#print(this.#evaluate(node.value, scope), node.value.kind === 'call')
        return 'done'
      case 'if': {
        const branch = node.branches.find(({ test }) => truth(this.#evaluate(test, scope)))
        return this.#body(branch?.body ?? node.otherwise, scope)
      }
      case 'for':
        this.#loop(node, this.#evaluate(node.iterable, scope), scope, 0)
        return 'done'
      case 'set':
        this.#assign(node.target, this.#evaluate(node.value, scope), scope)
        return 'done'
      case 'set block': {
        const text = this.#capture(() => this.#body(node.body, new Scope(scope)))
        this.#assign(
          node.target,
          node.filter ? this.#evaluator.filterText(node.filter, text, scope) : text,
          scope,
        )
        return 'done'
      }
      case 'macro':
        scope.set(node.name, this.#macro(node.name, node.parameters, node.body, scope))
        return 'done'
      case 'call block': {
        const caller = this.#macro(undefined, node.parameters, node.body, scope)
        const { positional, named } = this.#evaluator.arguments(node.call.args, scope)
        const args: Arguments = { positional, named: new Map([...named, ['caller', caller]]) }
        this.#printText(this.#evaluator.call(this.#evaluate(node.call.callee, scope), args))
        return 'done'
      }
      case 'filter block': {
        const text = this.#capture(() => this.#body(node.body, new Scope(scope)))
        this.#printText(this.#evaluator.filterText(node.filter, text, scope))
        return 'done'
      }
      case 'with': {
        const inner = new Scope(scope)
        // Values see the variables around the block, not each other.
        for (const { target, value } of node.items) this.#assign(target, this.#evaluate(value, scope), inner)
        return this.#body(node.body, inner)
      }
      case 'generation': {
        const start = this.#output.length
        this.#marked++
        this.#body(node.body, new Scope(scope))
        this.#output.marks.push([start, this.#output.length])
        return 'done'
      }
      case 'block':
        return this.#body(node.body, new Scope(node.isScoped ? scope : this.#root))
      case 'autoescape':
        if (truth(this.#evaluate(node.option, scope)))
          throw new TemplateError('{% autoescape true %} is not supported')
        return this.#body(node.body, new Scope(scope))
      case 'break':
      case 'continue':
        return node.kind
      case 'load':
        throw new TemplateError(`{% ${node.tag} %}: a chat template has no other templates to load`)
    }
  }

  /** Prints a value. What a macro has rendered keeps its marks if the call is the whole expression. */
  #print(value: Value, isCall: boolean): void {
    const captured = this.#captured
    this.#captured = undefined
    const text = printed(value)
    if (isCall && captured?.text === text) this.#output.writeMarked(captured)
    else this.#output.write(text)
  }

  /** The result of a block, which has to be a text. */
  #printText(value: Value): void {
    if (!isText(value))
      throw new TemplateError(`sequence item 0: expected str instance, ${typeName(value)} found`)
    this.#print(textOf(value), true)
  }

  /** The text that `run` renders. */
  #capture(run: () => void): string {
    const outer = this.#output
    const inner = new Output(this.#evaluator.budget)
    this.#output = inner
    try {
      this.#evaluator.budget.nested(run)
    } finally {
      this.#output = outer
    }
    const rendered = inner.rendered
    this.#captured = rendered.marks.length > 0 ? rendered : undefined
    return rendered.text
  }

  #macro(name: string | undefined, parameters: readonly Parameter[], body: Body, scope: Scope): Macro {
    const run = (bound: readonly Bound[]) => {
      const inner = new Scope(scope)
      for (const { name: own, value, parameter } of bound)
        inner.set(
          own,
          orElse(value, () =>
            parameter?.default
              ? this.#evaluate(parameter.default, inner)
              : new Undefined(`parameter '${own}' was not provided`),
          ),
        )
      return this.#capture(() => this.#body(body, inner))
    }
    return new Macro({ name, parameters, body }, run)
  }

  #assign(target: Target, value: Value, scope: Scope): void {
    switch (target.kind) {
      case 'name':
        scope.set(target.name, value)
        return
      case 'member': {
        const namespace = scope.get(target.namespace)
        if (!(namespace instanceof Namespace))
          throw new TemplateError('cannot assign attribute on non-namespace object')
        namespace.set(target.name, value)
        return
      }
      case 'targets': {
        const items = listOf(value)
        if (items.length !== target.items.length)
          throw new TemplateError(
            items.length < target.items.length
              ? `not enough values to unpack (expected ${target.items.length}, got ${items.length})`
              : `too many values to unpack (expected ${target.items.length})`,
          )
        target.items.forEach((one, i) => this.#assign(one, items[i] ?? null, scope))
      }
    }
  }

  #loop(node: ForLoop, items: Value, scope: Scope, depth: number): void {
    const source = node.test ? new Stream(this.#chosen(node, node.test, items, scope)) : items
    const recurse = (inner: Value, innerDepth: number) =>
      this.#capture(() => this.#loop(node, inner, scope, innerDepth))
    const loop = new Loop(source, depth, node.isRecursive ? recurse : undefined)
    let isEmpty = true
    for (let item = loop.next(); item !== undefined; item = loop.next()) {
      this.#evaluator.budget.spend(1)
      const inner = new Scope(scope)
      inner.set('loop', loop)
      this.#assign(node.target, item, inner)
      const end = this.#body(node.body, inner)
      if (end === 'break') break
      // Jinja2 takes a loop for empty unless a turn reaches the end of the body.
      if (end === 'done') isEmpty = false
    }
    if (isEmpty) this.#body(node.otherwise, new Scope(scope))
  }

  /** Items for which the test of the loop holds. */
  *#chosen(node: ForLoop, test: Expression, items: Value, scope: Scope): Generator<Value> {
    const iterator = iterate(items)
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      this.#evaluator.budget.spend(1)
      const inner = new Scope(scope)
      this.#assign(node.target, next.value, inner)
      if (truth(this.#evaluate(test, inner))) yield next.value
    }
  }
}

class BlockReferences extends PythonObject {
  readonly typeName = 'TemplateReference'
  readonly #blocks: ReadonlyMap<string, PythonFunction>

  constructor(blocks: ReadonlyMap<string, PythonFunction>) {
    super()
    this.#blocks = blocks
  }

  override attribute(name: string): Value | undefined {
    return this.#blocks.get(name)
  }
}
