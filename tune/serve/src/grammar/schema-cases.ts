/** Converts a JSON Schema to a list of alternatives without references and combinations at the top level. */
import { nested, charge } from './budget.ts'
import { GrammarError } from './expression.ts'
import {
  bothTypes,
  conjunction,
  isOneOf,
  isSchema,
  listOf,
  ownKeywords,
  schemaOf,
  schemasOf,
  typeOf,
  typesOf,
  type Flat,
  type Schema,
} from './schema-merge.ts'

const MAX_ALTERNATIVES = 200

/** Whether certainly no value satisfies both. */
function areDisjoint(a: Flat, b: Flat, compare: (a: Schema, b: Schema) => boolean): boolean {
  charge('steps', 1)
  const [ea, eb] = [a.enum, b.enum] as [unknown[] | undefined, unknown[] | undefined]
  if (ea && eb) return !ea.some(value => isOneOf(value, eb))
  const [ta, tb] = [typesOf(a) ?? ea?.map(typeOf), typesOf(b) ?? eb?.map(typeOf)]
  if (ta && tb && bothTypes(ta, tb).length === 0) return true
  if (!ta || !tb || [...ta, ...tb].some(type => type !== 'object')) return false
  const [pa, pb] = [schemasOf(a.properties, 'properties'), schemasOf(b.properties, 'properties')]
  const needed = ((a.required ?? []) as string[]).filter(name =>
    ((b.required ?? []) as string[]).includes(name),
  )
  return needed.some(name => {
    const [x, y] = [pa.get(name), pb.get(name)]
    return x !== undefined && y !== undefined && compare(x, y)
  })
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new GrammarError(`$ref has ${JSON.stringify(part)}, which is not valid percent-encoding`)
  }
}

/** Finds the alternatives of any schema within `root`. */
export function createFlattener(root: Schema): (schema: Schema) => Flat[] {
  const known = new Map<Schema, Flat[]>()
  /** Schemas whose comparison is in progress. */
  const compared = new Set<Schema>()

  function find(reference: unknown): Schema {
    if (typeof reference !== 'string' || !/^#(\/|$)/.test(reference))
      throw new GrammarError(
        `$ref ${JSON.stringify(reference)}: only paths within the schema (#/…) are supported`,
      )
    let at: unknown = root
    for (const part of reference.split('/').slice(1)) {
      const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
      at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Flat)[key] : undefined
    }
    if (!isSchema(at)) throw new GrammarError(`$ref ${JSON.stringify(reference)} does not point to a schema`)
    return at
  }

  function flatten(schema: Schema, open: ReadonlySet<Schema>): Flat[] {
    if (typeof schema === 'boolean') return schema ? [{}] : []
    if (open.has(schema)) throw new GrammarError('a $ref points back to itself')
    const list = known.get(schema) ?? nested(() => combine(schema, new Set([...open, schema])))
    known.set(schema, list)
    charge('steps', 1 + list.length)
    return list
  }

  /** A comparison that depends on itself gives no certainty. */
  function compare(a: Schema, b: Schema): boolean {
    if (compared.has(a) || compared.has(b)) return false
    compared.add(a).add(b)
    try {
      const others = flatten(b, new Set())
      return nested(() =>
        flatten(a, new Set()).every(one => others.every(other => areDisjoint(one, other, compare))),
      )
    } finally {
      compared.delete(a)
      compared.delete(b)
    }
  }

  function combine(schema: Flat, within: ReadonlySet<Schema>): Flat[] {
    const sub = (value: unknown, keyword: string) => flatten(schemaOf(value, keyword), within)
    const cross = (some: Flat[], others: Flat[]): Flat[] => {
      if (some.length * others.length > MAX_ALTERNATIVES)
        throw new GrammarError(`its combinations have more than the maximum of ${MAX_ALTERNATIVES} cases`)
      return some.flatMap(a => others.map(b => conjunction(a, b)))
    }
    let list = [ownKeywords(schema, schema === root)]
    if (schema.$ref !== undefined) list = cross(list, flatten(find(schema.$ref), within))
    if (schema.allOf !== undefined)
      for (const part of listOf(schema.allOf, 'allOf')) list = cross(list, sub(part, 'allOf'))
    if (schema.anyOf !== undefined)
      list = cross(
        list,
        listOf(schema.anyOf, 'anyOf').flatMap(part => sub(part, 'anyOf')),
      )
    if (schema.oneOf !== undefined) {
      const cases = listOf(schema.oneOf, 'oneOf').map(part => sub(part, 'oneOf'))
      for (const [i, some] of cases.entries())
        for (const others of cases.slice(i + 1))
          if (!some.every(a => others.every(b => areDisjoint(a, b, compare))))
            throw new GrammarError(
              'the cases of oneOf may overlap; give them different types, or a required property ' +
                'with different constants, or use anyOf',
            )
      list = cross(list, cases.flat())
    }
    return list
  }
  return schema => flatten(schema, new Set())
}
