/**
 * Arguments that a tool of revision 2026-07-28 wants repeated as HTTP headers (`x-mcp-header` in its input
 * schema). A tool with an invalid declaration must not be offered.
 */

type Json = Record<string, unknown>
type Declaration = { path: readonly string[]; header: string }
/** The declarations, or why the schema is invalid. */
type Declared = { declarations: readonly Declaration[] } | { problem: string }

const KEY = 'x-mcp-header'
/** RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
const MAX_DEPTH = 64

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function declaredHeaders(schema: unknown): Declared {
  const declarations: Declaration[] = []
  const problem = visit(schema, [], true, declarations)
  if (problem !== null) return { problem }
  const seen = new Set<string>()
  for (const { header } of declarations) {
    if (seen.has(header.toLowerCase())) return { problem: `its schema declares the header ${header} twice` }
    seen.add(header.toLowerCase())
  }
  return { declarations }
}

/**
 * A declaration is valid only on a property that `properties` alone lead to: anywhere else the client could
 * not know which argument is meant.
 */
function visit(
  node: unknown,
  path: readonly string[],
  reachable: boolean,
  found: Declaration[],
  depth = 0,
): string | null {
  if (depth > MAX_DEPTH) return `its schema is nested deeper than ${MAX_DEPTH} levels`
  if (Array.isArray(node)) {
    for (const each of node) {
      const problem = visit(each, path, false, found, depth + 1)
      if (problem !== null) return problem
    }
    return null
  }
  if (!isObject(node)) return null
  if (Object.hasOwn(node, KEY)) {
    const header = node[KEY]
    const at = path.join('.') || 'the schema itself'
    if (!reachable || path.length === 0) return `${at} declares a header where no argument can have one`
    if (typeof header !== 'string' || !TOKEN.test(header))
      return `the header of ${at} is not a token: ${JSON.stringify(header)?.slice(0, 100)}`
    if (!TYPES.has(node['type']))
      return `the header of ${at} needs an argument of type string, integer or boolean`
    found.push({ path, header })
  }
  for (const [key, child] of Object.entries(node)) {
    if (key === 'default' || key === 'enum' || key === 'const' || key === 'examples' || key === KEY) continue
    const isProperties = key === 'properties' && isObject(child)
    const children: [readonly string[], unknown][] = isProperties
      ? Object.entries(child).map(([name, value]) => [[...path, name], value])
      : [[[...path, key], child]]
    for (const [to, value] of children) {
      const problem = visit(value, to, isProperties && reachable, found, depth + 1)
      if (problem !== null) return problem
    }
  }
  return null
}

const PREFIX = 'Mcp-Param-'

/** The headers of a call; an absent or null argument has none. */
export function paramHeaders(schema: unknown, args: Json): Record<string, string> {
  const declared = declaredHeaders(schema)
  if ('problem' in declared) return {}
  return Object.fromEntries(
    declared.declarations.flatMap(({ path, header }) => {
      const text = textOf(path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), args))
      return text === null ? [] : [[`${PREFIX}${header}`, encodeHeader(text)]]
    }),
  )
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'number' || !Number.isFinite(value)) return null
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? null : String(value)
}

/** Text that HTTP would change or reject, or that looks encoded already, is sent as base64. */
const encodeHeader = (text: string): string =>
  /^[\x21-\x7E](?:[\t\x20-\x7E]*[\x21-\x7E])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`
