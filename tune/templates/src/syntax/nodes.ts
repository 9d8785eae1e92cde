/** The tree of a parsed template. */
import type { Value } from '../values.ts'

/** Arguments of a call, a filter or a test: `(a, k=b, *c, **d)`. */
export type ArgumentNodes = {
  positional: readonly Expression[]
  named: readonly { name: string; value: Expression }[]
  rest: Expression | undefined
  restNamed: Expression | undefined
}
export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**'
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in'

type Name = { kind: 'name'; name: string; line: number }
export type Filter = {
  kind: 'filter'
  /** Undefined in a filter block, whose text is filtered. */
  value: Expression | undefined
  name: string
  args: ArgumentNodes
  line: number
}
type Call = { kind: 'call'; callee: Expression; args: ArgumentNodes; line: number }

export type Expression =
  | { kind: 'constant'; value: Value; line: number }
  | Name
  | { kind: 'attribute'; object: Expression; name: string; line: number }
  | { kind: 'item'; object: Expression; key: Expression; line: number }
  | {
      kind: 'slice'
      object: Expression
      start: Expression | undefined
      stop: Expression | undefined
      step: Expression | undefined
      line: number
    }
  | Call
  | Filter
  | { kind: 'test'; value: Expression; name: string; args: ArgumentNodes; line: number }
  | { kind: 'not' | 'negative' | 'positive'; value: Expression; line: number }
  | { kind: 'and' | 'or'; left: Expression; right: Expression; line: number }
  | { kind: 'binary'; operator: BinaryOperator; left: Expression; right: Expression; line: number }
  | { kind: 'concat'; parts: readonly Expression[]; line: number }
  | {
      kind: 'compare'
      first: Expression
      rest: readonly { operator: CompareOperator; value: Expression }[]
      line: number
    }
  | {
      kind: 'condition'
      test: Expression
      value: Expression
      otherwise: Expression | undefined
      line: number
    }
  | { kind: 'list' | 'tuple'; items: readonly Expression[]; line: number }
  | { kind: 'dict'; items: readonly { key: Expression; value: Expression }[]; line: number }

/** What a value is assigned to. `member` is an attribute of a namespace. */
export type Target =
  | Name
  | { kind: 'member'; namespace: string; name: string; line: number }
  | { kind: 'targets'; items: readonly Target[]; line: number }

export type Parameter = { name: string; default: Expression | undefined }
export type Body = readonly Statement[]

export type ForLoop = {
  kind: 'for'
  target: Target
  iterable: Expression
  test: Expression | undefined
  isRecursive: boolean
  body: Body
  otherwise: Body
  line: number
}
type MacroNode = {
  kind: 'macro'
  name: string
  parameters: readonly Parameter[]
  body: Body
  line: number
}

export type Statement =
  | { kind: 'text'; text: string; line: number }
  | { kind: 'print'; value: Expression; line: number }
  | ForLoop
  | { kind: 'if'; branches: readonly { test: Expression; body: Body }[]; otherwise: Body; line: number }
  | { kind: 'set'; target: Target; value: Expression; line: number }
  | { kind: 'set block'; target: Target; filter: Filter | undefined; body: Body; line: number }
  | MacroNode
  | { kind: 'call block'; parameters: readonly Parameter[]; call: Call; body: Body; line: number }
  | { kind: 'filter block'; filter: Filter; body: Body; line: number }
  | { kind: 'with'; items: readonly { target: Target; value: Expression }[]; body: Body; line: number }
  | { kind: 'generation'; body: Body; line: number }
  | { kind: 'block'; name: string; isScoped: boolean; body: Body; line: number }
  | { kind: 'autoescape'; option: Expression; body: Body; line: number }
  | { kind: 'break' | 'continue'; line: number }
  | { kind: 'load'; tag: string; line: number }
