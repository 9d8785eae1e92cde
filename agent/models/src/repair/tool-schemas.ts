/**
 * JSON Schemas of tools in the form that model servers accept. The repairs only loosen a schema: the tool
 * itself still validates its arguments. Schemas of MCP servers are of any shape; those of our own tools pass
 * unchanged.
 */
import { nestsTooDeep } from '@cairn/protocol'

type Schema = Record<string, unknown>

/** Only for people and validators. OpenAI ignores them, others reject them. */
const ALWAYS_OMITTED = ['$schema', '$comment']
const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const INNER = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const EMPTY: Schema = { type: 'object', properties: {} }

const repaired = new WeakMap<object, Map<string, Schema>>()

/** Repaired once per schema and list of keywords; the schema must not be modified. */
export function acceptableSchema(schema: Schema, omitted: readonly string[]): Schema {
  const key = omitted.join('\n')
  let known = repaired.get(schema)
  if (known === undefined) repaired.set(schema, (known = new Map<string, Schema>()))
  let found = known.get(key)
  if (found === undefined)
    known.set(
      key,
      (found = nestsTooDeep(schema) ? EMPTY : repairRoot(schema, new Set([...ALWAYS_OMITTED, ...omitted]))),
    )
  return found
}

const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf'] as const

/** The root must be an object schema with `properties` and without alternatives. */
function repairRoot(given: Schema, omitted: ReadonlySet<string>): Schema {
  const { anyOf, oneOf, allOf, enum: _enum, not: _not, ...root } = resolveRoot(given)
  const isObject = [root['type'] ?? 'object'].flat().includes('object')
  if (!isObject) return EMPTY
  const alternatives = { anyOf, oneOf, allOf }
  const merged = ALTERNATIVES.flatMap(key => {
    const list = alternatives[key]
    return Array.isArray(list)
      ? [
          mergeVariants(
            list.filter(isSchema).map(one => resolve(one, given)),
            key,
          ),
        ]
      : []
  })
  const parts = [root, ...merged]
  const properties = Object.assign({}, ...parts.map(part => propertiesOf(part)).toReversed()) as Schema
  const required = [...new Set(parts.flatMap(requiredOf))]
  return repairSchema(
    { ...root, type: 'object', properties, ...(required.length > 0 ? { required } : {}) },
    omitted,
  )
}

const propertiesOf = ({ properties }: Schema): Schema => (isSchema(properties) ? properties : {})
const requiredOf = ({ required }: Schema): string[] =>
  Array.isArray(required) ? required.filter(name => typeof name === 'string') : []

/** All properties of the variants; required is what every variant requires, or with allOf what any does. */
function mergeVariants(variants: readonly Schema[], key: (typeof ALTERNATIVES)[number]): Schema {
  const names = variants.map(requiredOf)
  const required =
    key === 'allOf' ? names.flat() : (names[0] ?? []).filter(name => names.every(list => list.includes(name)))
  return { properties: Object.assign({}, ...variants.map(propertiesOf)) as Schema, required }
}

const MAX_REFERENCES = 8

const resolveRoot = (root: Schema): Schema => {
  const { $ref: _, ...rest } = resolve(root, root)
  // Definitions stay, because properties may refer to them.
  const { $defs, definitions } = root
  return {
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    ...rest,
  }
}

/** The definition that a local reference names; an unknown one is an empty schema. */
function resolve(schema: Schema, root: Schema): Schema {
  let found = schema
  for (let step = 0; typeof found['$ref'] === 'string' && step < MAX_REFERENCES; step++) {
    const [, map, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(found['$ref']) ?? []
    const definitions = map === undefined ? undefined : root[map]
    const next = isSchema(definitions) && name !== undefined ? definitions[name] : undefined
    found = isSchema(next) ? next : {}
  }
  return found
}

function repairSchema(schema: Schema, omitted: ReadonlySet<string>): Schema {
  const out: Schema = {}
  for (const [key, value] of Object.entries(schema)) {
    if (omitted.has(key)) continue
    if (INNER.has(key) && isSchema(value)) out[key] = repairSchema(value, omitted)
    else if (LISTS.has(key) && Array.isArray(value))
      out[key] = value.map(one => (isSchema(one) ? repairSchema(one, omitted) : one))
    else if (MAPS.has(key) && isSchema(value))
      out[key] = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, isSchema(one) ? repairSchema(one, omitted) : one]),
      )
    else out[key] = value
  }
  return repairKeywords(out)
}

/** Keywords that servers check against each other. */
function repairKeywords(schema: Schema): Schema {
  const out = { ...schema }
  const types = [out['type'] ?? []].flat().filter(type => TYPES.has(String(type)))
  if (types.length === 0) delete out['type']
  else if (!Array.isArray(out['type'])) out['type'] = types[0]
  if (types.includes('object') && !isSchema(out['properties'])) out['properties'] = {}
  if (types.includes('array') && !isSchema(out['items']) && out['prefixItems'] === undefined)
    out['items'] = {}
  if ('required' in out) {
    const required = [...new Set(requiredOf(out))].filter(name => Object.hasOwn(propertiesOf(out), name))
    if (required.length > 0) out['required'] = required
    else delete out['required']
  }
  return out
}
