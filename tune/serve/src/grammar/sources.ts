/** The forms that a request can require of an answer, each as a grammar. */
import { parseEbnf } from './ebnf.ts'
import {
  characters,
  choice,
  complement,
  GrammarError,
  literal,
  repeat,
  rule,
  sequence,
} from './expression.ts'
import type { Expression, Grammar } from './grammar.ts'
import { oneOf } from './literals.ts'
import { regexExpression } from './regex.ts'
import { objectGrammar, schemaGrammar } from './schema.ts'
import type { Schema } from './schema-merge.ts'

/** A function that may be called. Undefined parameters accept any object. */
export type Callable = { name: string; parameters: Schema | undefined }

export type FormSource = {
  /** Whether the answer starts inside a thought, which is unconstrained. */
  startsInThought: boolean
} & (
  | { kind: 'object' }
  | { kind: 'schema'; schema: Schema }
  | { kind: 'regex'; pattern: string }
  | { kind: 'choice'; texts: readonly string[] }
  | { kind: 'grammar'; text: string }
  /** The text after `<tool_call>` and a new line: one or several calls of any of these functions. */
  | { kind: 'calls'; functions: readonly Callable[]; isSingle: boolean }
  /** The text after the word "arguments": those of one function, and the end of its call. */
  | { kind: 'arguments'; function: Callable }
  /** Only the arguments, which end the message of a call. */
  | { kind: 'call body'; function: Callable }
)

const one = (of: Expression): Grammar => ({ root: 'root', rules: new Map([['root', of]]) })

function renamed(e: Expression, prefix: string): Expression {
  switch (e.kind) {
    case 'bytes':
      return e
    case 'sequence':
      return { ...e, parts: e.parts.map(part => renamed(part, prefix)) }
    case 'choice':
      return { ...e, options: e.options.map(option => renamed(option, prefix)) }
    case 'repeat':
      return { ...e, of: renamed(e.of, prefix) }
    case 'rule':
      return rule(prefix + e.name)
  }
}

/** Adds the rules of a grammar to others, with a name prefix. */
function include(grammar: Grammar, prefix: string, rules: Map<string, Expression>): Expression {
  for (const [name, body] of grammar.rules) rules.set(prefix + name, renamed(body, prefix))
  return rule(prefix + grammar.root)
}

function argumentsOf({ name, parameters }: Callable, rules: Map<string, Expression>): Expression {
  try {
    // Arguments are an object, even if the schema does not say so.
    const grammar =
      parameters === undefined
        ? objectGrammar()
        : schemaGrammar({ ...Object(parameters), type: 'object' } as Schema)
    return include(grammar, `${name} `, rules)
  } catch (error) {
    if (error instanceof GrammarError) throw new GrammarError(`parameters of ${name}: ${error.message}`)
    throw error
  }
}

const callEnd = literal('}\n</tool_call>')

function answerGrammar(source: FormSource): Grammar {
  switch (source.kind) {
    case 'object':
      return objectGrammar()
    case 'schema':
      return schemaGrammar(source.schema)
    case 'regex':
      return one(regexExpression(source.pattern, characters))
    case 'choice':
      return one(oneOf(source.texts))
    case 'grammar':
      return parseEbnf(source.text)
    case 'arguments': {
      const rules = new Map<string, Expression>()
      rules.set('root', sequence(argumentsOf(source.function, rules), callEnd))
      return { root: 'root', rules }
    }
    case 'call body': {
      const rules = new Map<string, Expression>()
      rules.set('root', argumentsOf(source.function, rules))
      return { root: 'root', rules }
    }
    case 'calls': {
      const rules = new Map<string, Expression>()
      const calls = source.functions.map(known =>
        sequence(
          literal(`{"name": ${JSON.stringify(known.name)}, "arguments": `),
          argumentsOf(known, rules),
          callEnd,
        ),
      )
      rules.set('a call', choice(calls))
      const more = repeat(sequence(literal('\n<tool_call>\n'), rule('a call')), 0, Infinity)
      rules.set('root', source.isSingle ? rule('a call') : sequence(rule('a call'), more))
      return { root: 'root', rules }
    }
  }
}

const notIn = (text: string) =>
  characters(complement([...text].map(letter => [letter.charCodeAt(0), letter.charCodeAt(0)] as const)))
/** A thought, up to its end tag and the new lines after it. Nothing in it may look like the tag. */
const thought = sequence(
  repeat(choice([notIn('<'), sequence(literal('<'), notIn('/<'))]), 0, Infinity),
  literal('</think>'),
  repeat(literal('\n'), 0, 2),
)

/** The grammar of the answers that a source requires. */
export function grammarOf(source: FormSource): Grammar {
  const grammar = answerGrammar(source)
  if (!source.startsInThought) return grammar
  const rules = new Map<string, Expression>()
  rules.set('root', sequence(thought, include(grammar, 'answer ', rules)))
  return { root: 'root', rules }
}
