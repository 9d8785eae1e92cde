/**
 * Splits a template into tokens like Jinja2's lexer, with the settings of transformers: `trim_blocks` and
 * `lstrip_blocks`, and without the line break at the end of the file.
 */
import { TemplateError } from '../errors.ts'
import { SPACE, isSpaces, stripEnd } from '../text/white-space.ts'
import { unescape } from './string-literal.ts'
import type { Token } from './tokens.ts'

const LINE_BREAKS = /\r\n|\r|\n/g
const OPENING = /\{%|\{\{|\{#/g
const RAW_BEGIN = new RegExp(`\\{%([-+]?)[${SPACE}]*raw[${SPACE}]*(?:-%\\}[${SPACE}]*|%\\})`, 'y')
const RAW_END = new RegExp(
  `\\{%([-+]?)[${SPACE}]*endraw[${SPACE}]*(?:\\+%\\}|-%\\}[${SPACE}]*|%\\}\\n?)`,
  'g',
)
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}[${SPACE}]*|#\\}\\n?`, 'g')
const BLOCK_END = new RegExp(`\\+%\\}|-%\\}[${SPACE}]*|%\\}\\n?`, 'y')
const VARIABLE_END = new RegExp(`-\\}\\}[${SPACE}]*|\\}\\}`, 'y')
const SPACES = new RegExp(`[${SPACE}]+`, 'y')
const FLOAT = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy
const NAME = /[\p{ID_Continue}]+/uy
const IDENTIFIER = /^[\p{ID_Start}_]\p{ID_Continue}*$/u
const STRING = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[+\-/*%~[\](){}<>=.:|,;]/y
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** All tokens of a template, the last of which is of kind `end`. */
export function tokenize(template: string): Token[] {
  return new Lexer(template).run()
}

class Lexer {
  readonly #source: string
  readonly #tokens: Token[] = []
  #position = 0
  #line = 1
  /** Whether the last token ended a line, so that white space after it starts one. */
  #startsLine = true

  constructor(template: string) {
    const source = template.replaceAll(LINE_BREAKS, '\n')
    this.#source = source.endsWith('\n') ? source.slice(0, -1) : source
  }

  run(): Token[] {
    while (this.#position < this.#source.length) this.#readText()
    this.#tokens.push({ kind: 'end', text: '', line: this.#line })
    return this.#tokens
  }

  #fail(message: string): never {
    throw new TemplateError(message, this.#line)
  }

  /** Moves behind `text`, which starts at the position. */
  #advance(text: string): void {
    this.#position += text.length
    for (const char of text) if (char === '\n') this.#line++
    this.#startsLine = text.endsWith('\n')
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    return pattern.exec(this.#source)?.[0]
  }

  /** Text up to the next tag, and that tag. */
  #readText(): void {
    OPENING.lastIndex = this.#position
    const found = OPENING.exec(this.#source)
    if (!found) {
      this.#readData(this.#source.slice(this.#position), '', false)
      return
    }
    const [opening] = found
    const text = this.#source.slice(this.#position, found.index)
    RAW_BEGIN.lastIndex = found.index
    const raw = opening === '{%' ? RAW_BEGIN.exec(this.#source) : null
    if (raw) {
      this.#readData(text, raw[1] ?? '', true)
      this.#advance(raw[0])
      this.#readRaw()
      return
    }
    const next = this.#source[found.index + 2]
    const sign = next === '-' || next === '+' ? next : ''
    this.#readData(text, sign, opening !== '{{')
    if (opening === '{#') this.#readComment(opening + sign)
    else this.#readTag(opening, sign)
  }

  /** Text in front of a tag with a sign, without the white space that the tag removes. */
  #readData(text: string, sign: string, isBlock: boolean): void {
    let kept = text
    if (sign === '-') kept = stripEnd(text)
    else if (sign === '' && isBlock) {
      const start = text.lastIndexOf('\n') + 1
      if ((start > 0 || this.#startsLine) && isSpaces(text.slice(start))) kept = text.slice(0, start)
    }
    if (kept !== '') this.#tokens.push({ kind: 'data', text: kept, line: this.#line })
    if (text !== '') this.#advance(text)
  }

  #readRaw(): void {
    RAW_END.lastIndex = this.#position
    const end = RAW_END.exec(this.#source)
    if (!end) return this.#fail('Missing end of raw directive')
    this.#readData(this.#source.slice(this.#position, end.index), end[1] ?? '', true)
    this.#advance(end[0])
  }

  #readComment(opening: string): void {
    COMMENT_END.lastIndex = this.#position + opening.length
    const end = COMMENT_END.exec(this.#source)
    if (!end) return this.#fail('Missing end of comment tag')
    this.#advance(this.#source.slice(this.#position, end.index + end[0].length))
  }

  #readTag(opening: string, sign: string): void {
    const kind = opening === '{{' ? 'variable' : 'block'
    this.#tokens.push({ kind: `${kind}_begin`, text: opening, line: this.#line })
    this.#advance(opening + sign)
    const brackets: string[] = []
    const endPattern = kind === 'variable' ? VARIABLE_END : BLOCK_END
    for (;;) {
      const end = brackets.length === 0 ? this.#match(endPattern) : undefined
      if (end !== undefined) {
        this.#tokens.push({ kind: `${kind}_end`, text: end, line: this.#line })
        this.#advance(end)
        return
      }
      // The parser reports the missing end with what it expects there.
      if (this.#position >= this.#source.length) return
      this.#readExpressionToken(brackets)
    }
  }

  #readExpressionToken(brackets: string[]): void {
    const line = this.#line
    const add = (token: Token) => {
      this.#tokens.push(token)
      return true
    }
    const spaces = this.#match(SPACES)
    if (spaces !== undefined) return this.#advance(spaces)
    const float = this.#match(FLOAT)
    if (float !== undefined) {
      add({ kind: 'float', text: float, value: Number(float.replaceAll('_', '')), line })
      return this.#advance(float)
    }
    const integer = this.#match(INTEGER)
    if (integer !== undefined) {
      add({ kind: 'integer', text: integer, value: BigInt(integer.replaceAll('_', '')), line })
      return this.#advance(integer)
    }
    const name = this.#match(NAME)
    if (name !== undefined) {
      if (!IDENTIFIER.test(name)) this.#fail('Invalid character in identifier')
      add({ kind: 'name', text: name, line })
      return this.#advance(name)
    }
    const string = this.#match(STRING)
    if (string !== undefined) {
      add({ kind: 'string', text: unescape(string.slice(1, -1), line), line })
      return this.#advance(string)
    }
    const operator = this.#match(OPERATOR)
    if (operator === undefined)
      return this.#fail(`unexpected char ${JSON.stringify(this.#source[this.#position])}`)
    this.#balance(operator, brackets)
    add({ kind: 'operator', text: operator, line })
    return this.#advance(operator)
  }

  #balance(operator: string, brackets: string[]): void {
    const closing = CLOSING[operator]
    if (closing !== undefined) brackets.push(closing)
    else if (operator === ')' || operator === ']' || operator === '}') {
      const expected = brackets.pop()
      if (expected === undefined) this.#fail(`unexpected '${operator}'`)
      if (expected !== operator) this.#fail(`unexpected '${operator}', expected '${expected}'`)
    }
  }
}
