/** Tokens of a template. */
export type Token =
  | { kind: 'data'; text: string; line: number }
  | {
      kind: 'variable_begin' | 'variable_end' | 'block_begin' | 'block_end' | 'end'
      text: string
      line: number
    }
  | { kind: 'name' | 'string' | 'operator'; text: string; line: number }
  | { kind: 'integer'; text: string; value: bigint; line: number }
  | { kind: 'float'; text: string; value: number; line: number }

/** A token as error messages show it. */
export function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'end of template'
    case 'variable_end':
      return 'end of print statement'
    case 'block_end':
      return 'end of statement block'
    case 'variable_begin':
      return 'begin of print statement'
    case 'block_begin':
      return 'begin of statement block'
    case 'data':
      return 'template text'
    case 'string':
      return JSON.stringify(token.text)
    default:
      return token.text
  }
}
