/**
 * Converts a JSON Schema to a grammar. The grammar may allow less than the schema, never more: properties
 * come in the order of the schema, and others only where `additionalProperties` is given.
 */
import { nested } from './budget.ts'
import { choice, GrammarError, literal, NEVER, optional, repeat, rule, sequence } from './expression.ts'
import type { Expression, Grammar } from './grammar.ts'
import {
  anyArray,
  anyObject,
  anyValue,
  colon,
  comma,
  enclosed,
  inString,
  jsonRules,
  list,
  quoted,
  stringNot,
} from './json-text.ts'
import { oneOf } from './literals.ts'
import { finderOf, regexExpression } from './regex.ts'
import { createFlattener } from './schema-cases.ts'
import { numberFor, numberOf, refuse, stringFor } from './schema-scalars.ts'
import { keyOf, schemaOf, schemasOf, typeOf, typesOf, type Flat, type Schema } from './schema-merge.ts'

const MAX_RULES = 2000

/** Keywords of each type. Without `type`, such a keyword implies its type. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  object: [
    'properties',
    'patternProperties',
    'additionalProperties',
    'propertyNames',
    'required',
    'minProperties',
    'maxProperties',
  ],
}

/** The types that an alternative allows. */
function typesFor(flat: Flat): readonly string[] {
  const hinted = Object.entries(OF_TYPE).flatMap(([type, keywords]) =>
    keywords.some(keyword => keyword in flat) ? [type] : [],
  )
  return typesOf(flat) ?? hinted
}

/** The grammar of the values that satisfy a schema. Throws a GrammarError that names an unsupported part. */
export function schemaGrammar(root: Schema): Grammar {
  const rules = jsonRules()
  const names = new Map<string, string>()
  const alternatives = createFlattener(root)

  function ruleOf(schema: Schema): Expression {
    if (schema === true) return anyValue
    const key = keyOf(schema)
    const known = names.get(key)
    if (known !== undefined) return rule(known)
    const name = `schema ${names.size}`
    if (names.size >= MAX_RULES) throw new GrammarError(`it has more than the maximum of ${MAX_RULES} parts`)
    names.set(key, name)
    rules.set(
      name,
      nested(() => choice(alternatives(schema).map(expressionOf))),
    )
    return rule(name)
  }

  function expressionOf(flat: Flat): Expression {
    const types = typesFor(flat)
    if (flat.enum !== undefined) {
      const others = Object.keys(flat).filter(keyword => keyword !== 'enum' && keyword !== 'type')
      if (others.length > 0) refuse(`${others.join(' and ')} together with enum or const`)
      const fits = (value: unknown) => {
        const type = typeOf(value)
        return (
          typesOf(flat) === undefined ||
          types.includes(type) ||
          (type === 'integer' && types.includes('number'))
        )
      }
      return oneOf((flat.enum as unknown[]).filter(fits).map(value => JSON.stringify(value)))
    }
    if (types.length === 0) return typesOf(flat) === undefined ? anyValue : NEVER
    return choice(types.map(type => typed(type, flat)))
  }

  function typed(type: string, flat: Flat): Expression {
    switch (type) {
      case 'null':
        return literal('null')
      case 'boolean':
        return choice([literal('true'), literal('false')])
      case 'integer':
      case 'number':
        return numberFor(type, flat)
      case 'string':
        return stringFor(flat)
      case 'array':
        return arrayFor(flat)
      default:
        return objectFor(flat)
    }
  }

  function arrayFor(flat: Flat): Expression {
    const [min, max] = [numberOf(flat, 'minItems', 0), numberOf(flat, 'maxItems', Infinity)]
    if (flat.uniqueItems === true && max > 1) refuse('uniqueItems')
    if (max < min) return NEVER
    const prefix = ((flat.prefixItems ?? []) as unknown[]).map(item => schemaOf(item, 'prefixItems'))
    const rest = flat.items === undefined ? true : schemaOf(flat.items, 'items')
    if (prefix.length === 0 && rest === true && min === 0 && max === Infinity) return anyArray
    // Items beyond the prefix are generated only if the schema asks for them.
    const isOpen = flat.items !== undefined || prefix.length === 0
    const [minRest, maxRest] = [Math.max(0, min - prefix.length), max - prefix.length]
    const more = isOpen ? maxRest : Math.min(minRest, maxRest)
    const item = ruleOf(rest)
    if (prefix.length === 0) return enclosed('[', list(item, min, max), ']')
    let tail = more <= 0 ? sequence() : repeat(sequence(comma, item), minRest, more)
    for (let i = Math.min(prefix.length, max) - 1; i >= 0; i--) {
      const one = sequence(...(i > 0 ? [comma] : []), ruleOf(prefix[i] ?? true), tail)
      tail = i < min ? one : optional(one)
    }
    return enclosed('[', max < 1 ? sequence() : tail, ']')
  }

  function objectFor(flat: Flat): Expression {
    const patterns = [...schemasOf(flat.patternProperties, 'patternProperties')]
    const properties = new Map(schemasOf(flat.properties, 'properties'))
    const required = [...new Set((flat.required ?? []) as string[])]
    const other =
      flat.additionalProperties === undefined
        ? undefined
        : schemaOf(flat.additionalProperties, 'additionalProperties')
    const tests = patterns.map(([pattern, schema]) => ({ isFound: finderOf(pattern), schema }))
    const matching = (name: string) =>
      tests.filter(({ isFound }) => isFound(name)).map(({ schema }) => schema)
    const isPatterned = [...properties.keys()].some(name => matching(name).length > 0)
    for (const name of required)
      if (!properties.has(name)) properties.set(name, matching(name).length > 0 ? true : (other ?? true))
    const [min, max] = [numberOf(flat, 'minProperties', 0), numberOf(flat, 'maxProperties', Infinity)]
    const isBare = properties.size === 0 && patterns.length === 0 && flat.propertyNames === undefined
    if (isBare && (other === undefined || other === true) && min === 0 && max === Infinity) return anyObject
    if (flat.propertyNames !== undefined && (properties.size > 0 || patterns.length > 0))
      refuse('propertyNames together with properties')
    if (min > Math.max(required.length, properties.size === 0 ? 1 : 0)) refuse(`minProperties ${min}`)
    if (max < min) return NEVER
    if (max < properties.size) refuse(`maxProperties ${max} with ${properties.size} properties`)
    const entry = (name: string, schema: Schema) => {
      const all = [schema, ...matching(name)].filter(one => one !== true)
      const [only = true] = all
      return sequence(literal(JSON.stringify(name)), colon, ruleOf(all.length > 1 ? { allOf: all } : only))
    }
    const extra = extraEntry()
    if (min > required.length && !extra) refuse(`minProperties ${min}`)
    let first: Expression = list(
      extra ?? NEVER,
      min > required.length ? 1 : 0,
      extra ? max - properties.size : 0,
    )
    let after: Expression = extra ? repeat(sequence(comma, extra), 0, max - properties.size) : sequence()
    // From last to first: what may follow, with and without an entry before it.
    for (const [name, schema] of [...properties].toReversed()) {
      const one = entry(name, schema)
      const isRequired = required.includes(name)
      const alone = shared(sequence(one, after))
      const beside = shared(sequence(comma, one, after))
      first = isRequired ? alone : choice([alone, first])
      after = isRequired ? beside : choice([beside, after])
      first = shared(first)
      after = shared(after)
    }
    return enclosed('{', first, '}')

    /** An entry that the schema does not name. Undefined if none is allowed. */
    function extraEntry(): Expression | undefined {
      const [pattern] = patterns
      if (patterns.length > 1 || (pattern && isPatterned)) return undefined
      if (pattern)
        return required.some(name => matching(name).length > 0)
          ? undefined
          : sequence(quoted(regexExpression(pattern[0], inString, true)), colon, ruleOf(pattern[1]))
      const value = other ?? properties.size === 0
      if (value === false) return undefined
      const names =
        flat.propertyNames === undefined
          ? stringNot([...properties.keys()])
          : choice(
              alternatives(schemaOf(flat.propertyNames, 'propertyNames')).map(one =>
                one.enum === undefined &&
                Object.keys(one).every(keyword => OF_TYPE.string?.includes(keyword) || keyword === 'type')
                  ? stringFor(one)
                  : expressionOf({ ...one, type: 'string' }),
              ),
            )
      return sequence(names, colon, ruleOf(value))
    }
  }

  /** Makes a part that occurs several times a rule, so that it exists once. */
  function shared(body: Expression): Expression {
    const name = `part ${rules.size}`
    rules.set(name, body)
    return rule(name)
  }

  const start = ruleOf(root)
  rules.set('root', start)
  return { root: 'root', rules }
}

/** Any JSON object, as for `json_object`. */
export const objectGrammar = (): Grammar => ({ root: 'object', rules: jsonRules() })
