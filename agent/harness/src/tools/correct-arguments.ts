/**
 * Arguments that do not match a tool's schema, corrected where they can mean only one thing: a number as
 * text, null for an optional argument, JSON text for an object. Whatever else does not match stays as it is,
 * and its schema rejects it.
 */
import { clip, nestsTooDeep } from '@cairn/protocol'

type Json = Record<string, unknown>
export type Corrected = {
  value: Json
  /** One entry for each correction, without values, which may be secret. */
  corrections: string[]
}
export type CorrectionRules = {
  /** Drops every unknown argument; otherwise only remarks and empty ones, which change no effect. */
  dropUnknown: boolean
  /** Names of arguments that only limit a call: a value above the maximum means the maximum. */
  caps: readonly string[]
}

/** Arguments with which models explain a call. No tool has them. */
const REMARKS = new Set([
  'description',
  'explanation',
  'reason',
  'reasoning',
  'rationale',
  'purpose',
  'intent',
  'thought',
  'thoughts',
  'comment',
  'summary',
])
const MAX_CORRECTIONS = 20

export function correctArguments(raw: Json, schema: Json, { dropUnknown, caps }: CorrectionRules): Corrected {
  const corrections: string[] = []
  const note = (path: string, what: string): void => {
    if (corrections.length < MAX_CORRECTIONS) corrections.push(`${clip(path, 100)}: ${what}`)
  }
  const value = correct(raw, schema, { path: '', note, dropUnknown }) as Json
  for (const name of caps) {
    const [given, maximum] = [value[name], asSchema(asSchema(schema['properties'])[name])['maximum']]
    if (typeof given !== 'number' || typeof maximum !== 'number' || given <= maximum) continue
    value[name] = maximum
    note(name, `above the maximum, lowered to ${maximum}`)
  }
  return { value, corrections }
}

type At = { path: string; note(path: string, what: string): void; dropUnknown: boolean }

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const asSchema = (value: unknown): Json => (isObject(value) ? value : {})

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** The types that a schema names; null: any. */
function typesOf(schema: Json): readonly string[] | null {
  const { type, const: only, enum: values } = schema
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String)
  if (only !== undefined) return [typeOf(only)]
  return Array.isArray(values) && values.length > 0 ? [...new Set(values.map(typeOf))] : null
}

/** Whether a value has a type of the schema. The types of its members are not compared. */
function hasType(value: unknown, schema: Json): boolean {
  const branches = branchesOf(schema)
  if (branches !== null) return branches.some(branch => hasType(value, branch) && hasConstants(value, branch))
  const types = typesOf(schema)
  const found = typeOf(value)
  return (
    types === null ||
    types.includes(found) ||
    (found === 'number' && types.includes('integer') && Number.isInteger(value))
  )
}

/** The alternatives of a schema; null: it has none. */
function branchesOf({ anyOf, oneOf }: Json): Json[] | null {
  const branches = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : null
  return branches === null ? null : branches.map(asSchema)
}

/** Whether an object has the constants by which a schema distinguishes its alternatives. */
function hasConstants(value: unknown, { properties }: Json): boolean {
  if (!isObject(value)) return true
  return Object.entries(asSchema(properties)).every(([name, schema]) => {
    const { const: only } = asSchema(schema)
    return only === undefined || value[name] === only
  })
}

function correct(value: unknown, schema: Json, at: At): unknown {
  const branches = branchesOf(schema)
  if (branches !== null) {
    const fitting = branches.filter(branch => hasType(value, branch) && hasConstants(value, branch))
    // With several that fit, it is not known which one is meant.
    if (fitting.length > 0) return fitting.length === 1 ? correct(value, fitting[0] ?? {}, at) : value
    const others = branches.filter(branch => !(typesOf(branch)?.includes('null') ?? false))
    return others.length === 1 ? correct(value, others[0] ?? {}, at) : value
  }
  const typed = hasType(value, schema) ? value : retype(value, schema, at)
  if (isObject(typed)) return correctObject(typed, schema, at)
  const { items } = schema
  if (!Array.isArray(typed) || !isObject(items)) return typed
  return typed.map((item, index) => correct(item, items, { ...at, path: `${at.path}[${index}]` }))
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** A value of another type as one of the schema's types; the value itself if that is not certain. */
function retype(value: unknown, schema: Json, at: At): unknown {
  const types = typesOf(schema) ?? []
  const wanted = (name: string): boolean => types.includes(name)
  if (typeof value === 'string') {
    const text = value.trim()
    const number = NUMBER.test(text) ? Number(text) : Number.NaN
    if ((wanted('number') && Number.isFinite(number)) || (wanted('integer') && Number.isSafeInteger(number)))
      return noted(at, number, 'text read as a number')
    if (wanted('boolean') && /^(?:true|false)$/i.test(text))
      return noted(at, text.toLowerCase() === 'true', 'text read as true or false')
    const parsed = wanted('object') || wanted('array') ? parseJson(text) : undefined
    if (parsed !== undefined && wanted(typeOf(parsed)))
      return noted(at, parsed, `JSON text read as an ${typeOf(parsed)}`)
    // It may be a list in another notation, or broken JSON.
    if (/^[[{]|[,;\n]/.test(text) || text === '') return value
  }
  if (typeof value === 'number' && types.length === 1 && wanted('string') && Number.isSafeInteger(value))
    return noted(at, String(value), 'a number read as text')
  const { items } = schema
  if (value !== null && !Array.isArray(value) && types.length === 1 && wanted('array') && isObject(items)) {
    if (hasType(value, items)) return noted(at, [value], 'a single value put into an array')
  }
  return value
}

function noted<T>({ path, note }: At, value: T, what: string): T {
  note(path, what)
  return value
}

/** An object or array from JSON text; undefined: the text is neither. */
function parseJson(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return nestsTooDeep(value) ? undefined : value
  } catch {
    // The text is not JSON, so it is left to the schema.
    return undefined
  }
}

const plain = (name: string): string => name.replaceAll(/[_-]/g, '').toLowerCase()

function correctObject(value: Json, schema: Json, at: At): Json {
  const properties = asSchema(schema['properties'])
  const isClosed = schema['additionalProperties'] === false
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const corrected: [string, unknown][] = []
  for (const [given, member] of Object.entries(value)) {
    const name = isClosed ? knownName(given, value, properties) : given
    const path = at.path === '' ? given : `${at.path}.${given}`
    if (name !== given) at.note(path, `read as ${name}`)
    const known = Object.hasOwn(properties, name) ? asSchema(properties[name]) : null
    if (known !== null && member === null && !required.includes(name) && !hasType(null, known))
      at.note(path, 'null left out')
    else if (known !== null) corrected.push([name, correct(member, known, { ...at, path })])
    else if (isClosed && (at.dropUnknown || member === null || member === '' || REMARKS.has(plain(name))))
      at.note(path, 'unknown, left out')
    else corrected.push([name, member])
  }
  // Object.fromEntries defines `__proto__` as an ordinary key, which an assignment would not.
  return Object.fromEntries(corrected)
}

/** The argument that differs from this name only in case, `_` and `-`, and is not given itself. */
function knownName(given: string, value: Json, properties: Json): string {
  if (Object.hasOwn(properties, given)) return given
  const alike = Object.keys(properties).filter(name => plain(name) === plain(given))
  const [name] = alike
  return alike.length === 1 && name !== undefined && !Object.hasOwn(value, name) ? name : given
}
