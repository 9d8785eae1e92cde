/** Parses a template into statements. */
import { ExpressionParser } from './expression-parser.ts'
import { tokenize } from './lexer.ts'
import type { Body, Expression, Filter, Parameter, Statement, Target } from './nodes.ts'
import { TokenStream } from './token-stream.ts'
import { describe } from './tokens.ts'

/** Statements that load another template. There is none to load. */
const LOADS: readonly string[] = ['extends', 'include', 'import', 'from']

export function parse(template: string): Body {
  return new Parser(template).run()
}

class Parser {
  readonly #stream: TokenStream
  readonly #expressions: ExpressionParser
  /** The names of the open statements. */
  readonly #open: string[] = []
  #loops = 0

  constructor(template: string) {
    this.#stream = new TokenStream(tokenize(template))
    this.#expressions = new ExpressionParser(this.#stream)
  }

  run(): Body {
    const body = this.#body([])
    this.#expressions.checkNames()
    return body
  }

  /** Statements up to a tag with one of the names, which becomes the current token. */
  #body(ends: readonly string[]): Body {
    const stream = this.#stream
    const body: Statement[] = []
    for (;;) {
      const token = stream.current
      const { line } = token
      switch (token.kind) {
        case 'end': {
          if (ends.length === 0) return body
          const open = this.#open.at(-1)
          return stream.fail(
            `Unexpected end of template; expected ${ends.join(' or ')}` +
              (open === undefined ? '' : ` for the innermost open tag ${open}`),
          )
        }
        case 'data':
          stream.next()
          body.push({ kind: 'text', text: token.text, line })
          break
        case 'variable_begin':
          stream.next()
          body.push({ kind: 'print', value: this.#expressions.tuple(), line })
          stream.expectEnd('variable_end')
          break
        default:
          stream.next()
          if (stream.isName(...ends)) return body
          body.push(...this.#statement(ends))
          stream.expectEnd('block_end')
      }
    }
  }

  /** The body of a statement whose opening tag ends here, and the name of the tag that ended it. */
  #block(...ends: readonly string[]): { body: Body; end: string } {
    this.#stream.skipOperator(':')
    this.#stream.expectEnd('block_end')
    const body = this.#body(ends)
    return { body, end: this.#stream.next().text }
  }

  /** A block with scope of its own, in which unknown filters are errors at once. */
  #scope(...ends: readonly string[]): { body: Body; end: string } {
    const before = this.#expressions.isConditional
    this.#expressions.isConditional = false
    const block = this.#block(...ends)
    this.#expressions.isConditional = before
    return block
  }

  /** A block that is compiled to a function, which a loop control cannot leave. */
  #function(end: string): Body {
    const before = this.#loops
    this.#loops = 0
    const { body } = this.#scope(end)
    this.#loops = before
    return body
  }

  #statement(ends: readonly string[]): Statement[] {
    const stream = this.#stream
    const token = stream.current
    if (token.kind !== 'name') return stream.fail(`expected the name of a tag, got ${describe(token)}`)
    this.#open.push(token.text)
    const made = this.#tagged(token.text, token.line, ends)
    this.#open.pop()
    return Array.isArray(made) ? made : [made]
  }

  #tagged(tag: string, line: number, ends: readonly string[]): Statement | Statement[] {
    const stream = this.#stream
    stream.next()
    switch (tag) {
      case 'for':
        return this.#for(line)
      case 'if':
        return this.#if(line)
      case 'set':
        return this.#set(line)
      case 'print':
        return this.#print(line)
      case 'macro': {
        const name = stream.expectName().text
        return { kind: 'macro', name, parameters: this.#parameters(), body: this.#function('endmacro'), line }
      }
      case 'call':
        return this.#call(line)
      case 'filter': {
        const filter = this.#filters(this.#expressions.filter(undefined))
        return { kind: 'filter block', filter, body: this.#scope('endfilter').body, line }
      }
      case 'with':
        return this.#with(line)
      case 'generation':
        return { kind: 'generation', body: this.#function('endgeneration'), line }
      case 'block':
        return this.#namedBlock(line)
      case 'autoescape': {
        const option = this.#expressions.expression()
        return { kind: 'autoescape', option, body: this.#block('endautoescape').body, line }
      }
      case 'break':
      case 'continue':
        if (this.#loops === 0) return stream.fail(`{% ${tag} %} outside of a loop`, line)
        return { kind: tag, line }
      default:
        if (LOADS.includes(tag)) return this.#load(tag, line)
        return stream.fail(
          `Encountered unknown tag '${tag}'` + (ends.length > 0 ? `; expected ${ends.join(' or ')}` : ''),
          line,
        )
    }
  }

  #for(line: number): Statement {
    const stream = this.#stream
    const expressions = this.#expressions
    const target = this.#target(['in'], false)
    stream.expectName('in')
    const iterable = expressions.tuple({ allowsCondition: false, ends: ['recursive'] })
    const before = expressions.isConditional
    expressions.isConditional = false
    const test = stream.skipName('if') ? expressions.expression() : undefined
    expressions.isConditional = before
    const isRecursive = stream.skipName('recursive')
    this.#loops++
    const { body, end } = this.#scope('endfor', 'else')
    this.#loops--
    const otherwise = end === 'else' ? this.#scope('endfor').body : []
    return { kind: 'for', target, iterable, test, isRecursive, body, otherwise, line }
  }

  #if(line: number): Statement {
    const expressions = this.#expressions
    const before = expressions.isConditional
    expressions.isConditional = true
    const branches: { test: Expression; body: Body }[] = []
    let otherwise: Body = []
    for (;;) {
      const test = expressions.tuple({ allowsCondition: false })
      const { body, end } = this.#block('elif', 'else', 'endif')
      branches.push({ test, body })
      if (end === 'elif') continue
      if (end === 'else') otherwise = this.#block('endif').body
      break
    }
    expressions.isConditional = before
    return { kind: 'if', branches, otherwise, line }
  }

  #set(line: number): Statement {
    const target = this.#target([], true)
    if (this.#stream.skipOperator('=')) return { kind: 'set', target, value: this.#expressions.tuple(), line }
    const filter = this.#stream.skipOperator('|')
      ? this.#filters(this.#expressions.filter(undefined))
      : undefined
    return { kind: 'set block', target, filter, body: this.#scope('endset').body, line }
  }

  /** The filters behind the first one of a block. */
  #filters(first: Filter): Filter {
    let filter = first
    while (this.#stream.skipOperator('|')) filter = this.#expressions.filter(filter)
    return filter
  }

  #print(line: number): Statement[] {
    const values: Expression[] = []
    while (this.#stream.current.kind !== 'block_end') {
      if (values.length > 0) this.#stream.expectOperator(',')
      values.push(this.#expressions.expression())
    }
    return values.map(value => ({ kind: 'print', value, line }))
  }

  #call(line: number): Statement {
    const parameters = this.#stream.isOperator('(') ? this.#parameters() : []
    const call = this.#expressions.expression()
    if (call.kind !== 'call') return this.#stream.fail('expected call', line)
    return { kind: 'call block', parameters, call, body: this.#function('endcall'), line }
  }

  #parameters(): Parameter[] {
    const stream = this.#stream
    const parameters: Parameter[] = []
    stream.expectOperator('(')
    while (!stream.isOperator(')')) {
      if (parameters.length > 0) stream.expectOperator(',')
      const name = stream.expectName().text
      const value = stream.skipOperator('=') ? this.#expressions.expression() : undefined
      if (value === undefined && parameters.at(-1)?.default !== undefined)
        stream.fail('non-default argument follows default argument')
      parameters.push({ name, default: value })
    }
    stream.next()
    return parameters
  }

  #with(line: number): Statement {
    const items: { target: Target; value: Expression }[] = []
    while (this.#stream.current.kind !== 'block_end') {
      if (items.length > 0) this.#stream.expectOperator(',')
      // Jinja2 reads a target up to the comma, so that each item is one name.
      const target = this.#singleTarget(false)
      this.#stream.expectOperator('=')
      items.push({ target, value: this.#expressions.expression() })
    }
    return { kind: 'with', items, body: this.#scope('endwith').body, line }
  }

  #namedBlock(line: number): Statement {
    const name = this.#stream.expectName().text
    const isScoped = this.#stream.skipName('scoped')
    this.#stream.skipName('required')
    const body = this.#function('endblock')
    this.#stream.skipName(name)
    return { kind: 'block', name, isScoped, body, line }
  }

  /** The rest of the tag is of no use, because the statement always fails. */
  #load(tag: string, line: number): Statement {
    while (this.#stream.current.kind !== 'block_end' && this.#stream.current.kind !== 'end')
      this.#stream.next()
    return { kind: 'load', tag, line }
  }

  #target(ends: readonly string[], allowsMembers: boolean): Target {
    const stream = this.#stream
    const { line } = stream
    const first = this.#singleTarget(allowsMembers)
    if (!stream.isOperator(',')) return first
    const items = [first]
    while (stream.skipOperator(',')) {
      if (this.#expressions.isTupleEnd(ends) || stream.isOperator('=')) break
      items.push(this.#singleTarget(allowsMembers))
    }
    return { kind: 'targets', items, line }
  }

  #singleTarget(allowsMembers: boolean): Target {
    const stream = this.#stream
    const { line } = stream
    if (stream.skipOperator('(')) {
      const target = this.#target([], false)
      stream.expectOperator(')')
      return target
    }
    const name = stream.expectName().text
    if (['true', 'false', 'none', 'True', 'False', 'None'].includes(name))
      stream.fail(`cannot assign to ${name}`, line)
    if (!allowsMembers || !stream.skipOperator('.')) return { kind: 'name', name, line }
    return { kind: 'member', namespace: name, name: stream.expectName().text, line }
  }
}
