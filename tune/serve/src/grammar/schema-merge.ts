/**
 * Keywords of JSON Schema: the supported ones, and the conjunction of two schemas. A keyword that cannot be
 * enforced exactly is rejected by name, so no answer can violate an accepted schema.
 */
import { isDeepStrictEqual } from 'node:util'
import { charge } from './budget.ts'
import { GrammarError } from './expression.ts'

export type Schema = boolean | { readonly [keyword: string]: unknown }
/** Keywords of one alternative. `const` becomes an enum with one value; `items` follows `prefixItems`. */
export type Flat = { readonly [keyword: string]: unknown }

const TYPES = ['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']

/** Keywords that do not constrain a value. */
const NOTES = new Set(
  (
    'title description default examples example deprecated readOnly writeOnly $comment $schema $defs ' +
    'definitions contentEncoding contentMediaType contentSchema strict discriminator nullable $vocabulary ' +
    'externalDocs'
  ).split(' '),
)
const CASES = 'use anyOf with the cases'
const ITEMS = 'use prefixItems for required items'
const WHOLE = 'only a root schema may have one'
const REFUSED: ReadonlyMap<string, string> = new Map([
  ['not', 'a grammar cannot express what a value is not'],
  ...['if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies'].map(
    name => [name, CASES] as const,
  ),
  ...['contains', 'minContains', 'maxContains'].map(name => [name, ITEMS] as const),
  ['unevaluatedProperties', 'use additionalProperties'],
  ['unevaluatedItems', 'use items'],
  ['$dynamicRef', 'use $ref'],
  ['$recursiveRef', 'use $ref'],
  ...['$dynamicAnchor', '$recursiveAnchor', '$anchor'].map(name => [name, 'use $ref with a path'] as const),
  ...['$id', 'id'].map(name => [name, WHOLE] as const),
])
/** Picks the stricter of two values, by keyword. */
const STRICTER: Readonly<Record<string, (a: number, b: number) => number>> = {
  minimum: Math.max,
  exclusiveMinimum: Math.max,
  minLength: Math.max,
  minItems: Math.max,
  minProperties: Math.max,
  maximum: Math.min,
  exclusiveMaximum: Math.min,
  maxLength: Math.min,
  maxItems: Math.min,
  maxProperties: Math.min,
}
const COUNTS = new Set('minLength maxLength minItems maxItems minProperties maxProperties'.split(' '))
const KNOWN = new Set([
  ...Object.keys(STRICTER),
  ...(
    'type enum const pattern format multipleOf uniqueItems required properties patternProperties ' +
    'additionalProperties propertyNames items prefixItems additionalItems allOf anyOf oneOf $ref'
  ).split(' '),
])

export const isSchema = (value: unknown): value is Schema =>
  typeof value === 'boolean' || (typeof value === 'object' && value !== null && !Array.isArray(value))

export function schemaOf(value: unknown, keyword: string): Schema {
  if (!isSchema(value)) throw new GrammarError(`${keyword} must be a schema, got ${JSON.stringify(value)}`)
  return value
}

export function schemasOf(value: unknown, keyword: string): ReadonlyMap<string, Schema> {
  const known = value === undefined ? {} : schemaOf(value, keyword)
  return new Map(
    Object.entries(known).map(([name, schema]) => [name, schemaOf(schema, `${keyword} ${name}`)]),
  )
}

export function listOf(value: unknown, keyword: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new GrammarError(`${keyword} must be a list`)
  return value as unknown[]
}

export const typesOf = ({ type }: Flat): readonly string[] | undefined =>
  type === undefined ? undefined : ([type].flat() as string[])

/** The keywords of a schema itself, validated and normalised. */
export function ownKeywords(schema: Flat, isRoot: boolean): Flat {
  const own: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    if (NOTES.has(keyword) || keyword.startsWith('x-') || (isRoot && keyword === '$id')) continue
    const reason = REFUSED.get(keyword)
    if (reason) throw new GrammarError(`keyword ${keyword} is not supported: ${reason}`)
    if (!KNOWN.has(keyword)) throw new GrammarError(`${JSON.stringify(keyword)} is not a schema keyword`)
    if (STRICTER[keyword] && !(typeof value === 'number' && Number.isFinite(value)))
      throw new GrammarError(`${keyword} must be a number, got ${JSON.stringify(value)}`)
    if (COUNTS.has(keyword) && !(Number.isInteger(value) && Number(value) >= 0))
      throw new GrammarError(`${keyword} must be a whole number of at least 0, got ${JSON.stringify(value)}`)
    if (!['allOf', 'anyOf', 'oneOf', '$ref', 'const', 'additionalItems'].includes(keyword))
      own[keyword] = value
  }
  const stranger = typesOf(own)?.find(type => !TYPES.includes(type))
  if (stranger !== undefined)
    throw new GrammarError(`unknown type ${JSON.stringify(stranger)}; known: ${TYPES.join(', ')}`)
  if (own.enum !== undefined) listOf(own.enum, 'enum')
  for (const name of own.required === undefined ? [] : listOf(own.required, 'required'))
    if (typeof name !== 'string')
      throw new GrammarError(`required must be a list of property names, got ${JSON.stringify(name)}`)
  if ('const' in schema) own.enum = [schema.const].filter(value => !own.enum || isOneOf(value, own.enum))
  // An array of `items` is the older spelling of prefixItems.
  if (Array.isArray(own.items)) {
    own.prefixItems = own.items as unknown
    delete own.items
    if (schema.additionalItems !== undefined) own.items = schema.additionalItems
  }
  return own
}

export function isOneOf(value: unknown, list: unknown): boolean {
  charge('steps', (list as unknown[]).length)
  return (list as unknown[]).some(one => isDeepStrictEqual(one, value))
}

/** A schema as text. Merged schemas may repeat the same parts many times, so each is charged as work. */
export const keyOf = (schema: unknown): string =>
  JSON.stringify(schema, (_, value: unknown) => (charge('steps', 1), value))

export function bothTypes(a: readonly string[], b: readonly string[]): string[] {
  const has = (list: readonly string[], type: string) =>
    list.includes(type) || (type === 'integer' && list.includes('number'))
  return TYPES.filter(type => (a.includes(type) || b.includes(type)) && has(a, type) && has(b, type))
}

const both = (a: unknown, b: unknown): unknown =>
  a === undefined || a === true
    ? b
    : b === undefined || b === true || a === b || keyOf(a) === keyOf(b)
      ? a
      : { allOf: [a, b] }

/** Properties of both. A rule of one for additional properties applies to those that only the other names. */
function bothProperties(a: Flat, b: Flat): Record<string, unknown> {
  const [pa, pb] = [schemasOf(a.properties, 'properties'), schemasOf(b.properties, 'properties')]
  charge('steps', pa.size + pb.size)
  return Object.fromEntries(
    [...new Set([...pa.keys(), ...pb.keys()])].map(name => [
      name,
      both(pa.get(name) ?? a.additionalProperties, pb.get(name) ?? b.additionalProperties) ?? true,
    ]),
  )
}

/** The schema that requires both. */
export function conjunction(a: Flat, b: Flat): Flat {
  charge('steps', 1 + Object.keys(a).length + Object.keys(b).length)
  const merged: Record<string, unknown> = { ...a, ...b }
  const shared = Object.keys(a).filter(keyword => keyword in b)
  const closes = (one: Flat, other: Flat) =>
    one.patternProperties !== undefined &&
    ['properties', 'additionalProperties', 'patternProperties'].some(keyword => other[keyword] !== undefined)
  if (closes(a, b) || closes(b, a))
    throw new GrammarError(
      'patternProperties with properties of another part of allOf or $ref is not supported',
    )
  if (a.properties !== undefined || b.properties !== undefined) merged.properties = bothProperties(a, b)
  for (const keyword of shared) {
    const [x, y] = [a[keyword], b[keyword]]
    const stricter = STRICTER[keyword]
    if (stricter) merged[keyword] = stricter(x as number, y as number)
    else if (keyword === 'type') merged.type = bothTypes(typesOf(a) ?? [], typesOf(b) ?? [])
    else if (keyword === 'enum') merged.enum = (x as unknown[]).filter(value => isOneOf(value, y))
    else if (keyword === 'required') merged.required = [...new Set([...(x as string[]), ...(y as string[])])]
    else if (keyword === 'uniqueItems') merged.uniqueItems = x === true || y === true
    else if (keyword === 'additionalProperties' || keyword === 'propertyNames') merged[keyword] = both(x, y)
    else if (
      keyword !== 'properties' &&
      keyword !== 'items' &&
      keyword !== 'prefixItems' &&
      !isDeepStrictEqual(x, y)
    )
      throw new GrammarError(`two values of ${keyword} for one text are not supported`)
  }
  const [ia, ib] = [a.prefixItems ?? [], b.prefixItems ?? []] as [unknown[], unknown[]]
  if (ia.length > 0 || ib.length > 0)
    merged.prefixItems = Array.from(
      { length: Math.max(ia.length, ib.length) },
      (_, i) => both(ia[i] ?? a.items, ib[i] ?? b.items) ?? true,
    )
  if (a.items !== undefined || b.items !== undefined) merged.items = both(a.items, b.items)
  return merged
}

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (JSON.isRawJSON(value)) return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}
