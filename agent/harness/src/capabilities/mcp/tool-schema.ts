/**
 * The input schema of an MCP tool in a form that model servers accept. Servers send every dialect of JSON
 * Schema; model servers refuse the whole request for one schema that they do not take. What cannot be
 * expressed stays open, and the MCP server validates the arguments.
 */
import { createHash } from 'node:crypto'

type Json = Record<string, unknown>
export type ModelSchema = {
  schema: Json
  /** Arguments with the property names of the server. */
  toServer(args: Json): Json
  /** What of the schema was left open. */
  notes: readonly string[]
}

/** Maximum number of subschemas, because references can multiply. */
const MAX_SUBSCHEMAS = 2000
const MAX_SCHEMA_BYTES = 128 * 1024
/** Property names that Anthropic's API accepts. */
const PLAIN_KEY = /^[a-zA-Z0-9_.-]{1,64}$/
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
/** Names of types in other languages. */
const ALIASES: Readonly<Record<string, string>> = {
  str: 'string',
  text: 'string',
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  bool: 'boolean',
  dict: 'object',
  map: 'object',
  list: 'array',
}
/** They have no meaning for a model, or none once references are resolved. */
const DROPPED = [
  '$schema',
  '$id',
  'id',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveRef',
  '$recursiveAnchor',
  '$vocabulary',
  '$comment',
  '$defs',
  'definitions',
  'additionalItems',
  'prefixItems',
  'dependencies',
  'dependentRequired',
]
const ONE = ['not', 'if', 'then', 'else', 'contains', 'propertyNames', 'unevaluatedItems'] as const
const MANY = ['anyOf', 'oneOf', 'allOf'] as const
const NAMED = ['patternProperties', 'dependentSchemas'] as const

/** Throws if the schema is not one of an object, as the arguments of a tool are. */
export function modelSchema(given: unknown): ModelSchema {
  if (given !== undefined && !isSchema(given) && !isEmptyList(given))
    throw new Error(`its input schema is ${typeName(given)}, not an object`)
  const reading: Reading = { root: asObject(given), left: MAX_SUBSCHEMAS, keys: new Map(), notes: new Set() }
  const root = mergeRoot(simplify(given, [], reading))
  for (const keyword of ['not', 'enum', 'const']) delete root[keyword]
  const { keys, notes } = reading
  const bytes = Buffer.byteLength(JSON.stringify(root))
  if (bytes > MAX_SCHEMA_BYTES)
    throw new Error(`its schema has ${bytes} bytes with its references; the maximum is ${MAX_SCHEMA_BYTES}`)
  return { schema: root, toServer: args => renameKeys(args, keys) as Json, notes: [...notes] }
}

type Reading = {
  root: Json
  left: number
  /** Original property names, by the names that the model sees. */
  keys: Map<string, string>
  notes: Set<string>
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const asObject = (value: unknown): Json => (isObject(value) ? value : {})
const isSchema = (value: unknown): boolean => value === null || value === true || isObject(value)
/** PHP encodes an empty object as an empty list. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0
const typeName = (value: unknown): string =>
  Array.isArray(value) ? 'a list' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`

function simplify(given: unknown, above: readonly string[], reading: Reading): Json {
  if (typeof given === 'string') return typed({}, given)
  if (!isObject(given)) return {}
  if (reading.left === 0) {
    reading.notes.add(`parts beyond ${MAX_SUBSCHEMAS} subschemas are left open`)
    return {}
  }
  reading.left -= 1
  const { $ref, ...own } = given
  if (typeof $ref === 'string') return { ...follow($ref, above, reading), ...simplify(own, above, reading) }
  const { type, properties, required, items, prefixItems, enum: values, ...rest } = own
  for (const keyword of DROPPED) delete rest[keyword]
  const schema = typed(rest, type)
  const inner = (value: unknown): Json => simplify(value, above, reading)
  for (const keyword of ONE) if (rest[keyword] !== undefined) schema[keyword] = inner(rest[keyword])
  for (const keyword of MANY) {
    delete schema[keyword]
    const branches = rest[keyword]
    if (Array.isArray(branches) && branches.length > 0) schema[keyword] = branches.map(inner)
  }
  for (const keyword of NAMED) if (rest[keyword] !== undefined) schema[keyword] = eachOf(rest[keyword], inner)
  const { additionalProperties: more } = rest
  if (isObject(more)) schema['additionalProperties'] = inner(more)
  else if (typeof more !== 'boolean') delete schema['additionalProperties']
  if (Array.isArray(values) && values.length > 0) schema['enum'] = [...new Set(values)]
  if (properties !== undefined || isOf(schema, 'object'))
    Object.assign(schema, members(asObject(properties), required, inner, reading))
  const tuple = [items, prefixItems].find(Array.isArray)
  if (tuple !== undefined) schema['items'] = anyOf([...tuple, ...(isObject(items) ? [items] : [])].map(inner))
  else if (items !== undefined || isOf(schema, 'array')) schema['items'] = inner(items)
  return schema
}

const isOf = ({ type }: Json, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name))

/** With a valid `type`, or with none. */
function typed(schema: Json, type: unknown): Json {
  const names = (Array.isArray(type) ? type : [type])
    .map(name => (typeof name === 'string' ? (ALIASES[name.toLowerCase()] ?? name.toLowerCase()) : ''))
    .filter(name => TYPES.has(name))
  const [first] = names
  return first === undefined
    ? { ...schema }
    : { ...schema, type: names.length === 1 ? first : [...new Set(names)] }
}

const eachOf = (value: unknown, change: (schema: unknown) => Json): Json =>
  Object.fromEntries(Object.entries(asObject(value)).map(([name, schema]) => [name, change(schema)]))

function anyOf(branches: readonly Json[]): Json {
  const distinct = [...new Map(branches.map(branch => [JSON.stringify(branch), branch])).values()]
  return distinct.length === 1 ? (distinct[0] ?? {}) : distinct.length === 0 ? {} : { anyOf: distinct }
}

/** Properties under names that model servers accept, and those of them that are required. */
function members(given: Json, required: unknown, inner: (schema: unknown) => Json, reading: Reading): Json {
  const properties: [string, Json][] = []
  const needed = new Set(Array.isArray(required) ? required : [])
  const seen = new Map<string, string>()
  for (const [name, schema] of Object.entries(given)) {
    if (schema === false) continue
    const key = plainKey(name)
    if (key !== name) reading.keys.set(key, name)
    seen.set(name, key)
    // In draft 3 a property says itself that it is required.
    if (asObject(schema)['required'] === true) needed.add(name)
    properties.push([key, inner(schema)])
  }
  const keys = [...seen].flatMap(([name, key]) => (needed.has(name) ? [key] : []))
  return { properties: Object.fromEntries(properties), ...(keys.length === 0 ? {} : { required: keys }) }
}

function plainKey(name: string): string {
  if (PLAIN_KEY.test(name)) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 64 - hash.length - 1)}_${hash}`
}

function renameKeys(value: unknown, keys: ReadonlyMap<string, string>): unknown {
  if (keys.size === 0) return value
  if (Array.isArray(value)) return value.map(item => renameKeys(item, keys))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [keys.get(key) ?? key, renameKeys(member, keys)]),
  )
}

/** The schema that a reference names. Nothing is fetched, and a recursive schema is open where it repeats. */
function follow(ref: string, above: readonly string[], reading: Reading): Json {
  const target = ref === '#' ? reading.root : resolve(ref, reading.root)
  const isRecursive = above.includes(ref)
  if (target === undefined || isRecursive) {
    const why = isRecursive ? 'is recursive' : 'leads nowhere in the schema'
    reading.notes.add(`the reference ${JSON.stringify(ref.slice(0, 100))} ${why}, so it is left open`)
    return isRecursive ? typed({}, asObject(target)['type']) : {}
  }
  return simplify(target, [...above, ref], reading)
}

function resolve(ref: string, root: Json): unknown {
  if (!ref.startsWith('#/')) return undefined
  let value: unknown = root
  for (const part of ref.slice(2).split('/')) {
    const key = decodeURIComponentSafe(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Json)[key]
  }
  return value
}

function decodeURIComponentSafe(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // A percent sign that begins no escape is meant literally.
    return text
  }
}

/**
 * A schema of the type object without alternatives at the top, which OpenAI and Anthropic refuse there: their
 * properties are merged.
 */
function mergeRoot({ type, allOf, anyOf: some, oneOf, ...root }: Json): Json {
  const lists = [asList(allOf), asList(some), asList(oneOf)] as const
  if (!isOfObject({ type }))
    throw new Error(`its input schema has the type ${JSON.stringify(type)}; arguments are an object`)
  const [all, ...alternatives] = lists
  let merged: Json = { ...root }
  for (const part of all) merged = combine(merged, mergeRoot(part), 'all')
  for (const branches of alternatives) {
    const objects = branches.filter(isOfObject).map(mergeRoot)
    if (branches.length > 0 && objects.length === 0)
      throw new Error('none of the alternatives of its input schema is an object')
    const [first, ...others] = objects
    if (first !== undefined)
      merged = combine(
        merged,
        others.reduce<Json>((sum, next) => combine(sum, next, 'any'), first),
        'all',
      )
  }
  const hasParts = lists.some(list => list.length > 0)
  const { additionalProperties, ...rest } = merged
  return {
    ...rest,
    // One part knows nothing of the properties of the others.
    ...(additionalProperties === undefined || hasParts ? {} : { additionalProperties }),
    type: 'object',
    properties: asObject(merged['properties']),
  }
}

const asList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])

const isOfObject = (schema: Json): boolean => schema['type'] === undefined || isOf(schema, 'object')

/** Both schemas of objects as one: `all`, what either requires is required; `any`, what both require. */
function combine(one: Json, other: Json, mode: 'all' | 'any'): Json {
  const [ours, theirs] = [asObject(one['properties']), asObject(other['properties'])]
  const both = (name: string): Json => {
    const [a, b] = [asObject(ours[name]), asObject(theirs[name])]
    return mode === 'any' ? anyOf([a, b]) : { ...a, ...b }
  }
  const properties = Object.fromEntries([
    ...Object.entries(ours).map(([name, schema]) => [
      name,
      Object.hasOwn(theirs, name) ? both(name) : schema,
    ]),
    ...Object.entries(theirs).filter(([name]) => !Object.hasOwn(ours, name)),
  ]) as Json
  const [needed, more] = [asNames(one['required']), asNames(other['required'])]
  const required =
    mode === 'all' ? [...new Set([...needed, ...more])] : needed.filter(name => more.includes(name))
  const { required: _, ...rest }: Json = { ...other, ...one, properties }
  return required.length === 0 ? rest : { ...rest, required }
}

const asNames = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
