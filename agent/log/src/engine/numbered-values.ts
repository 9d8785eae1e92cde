/** Builds the statements of listings from the conditions of a query. */
import type { Binder } from './session-query.ts'
import type { Statement, Value } from '../postgres/connections.ts'

/** Conditions of a listing with their values, numbered in order. */
export function conditions(values: Value[]) {
  const where: string[] = []
  return {
    where,
    add(value: Value, condition: (parameter: string) => string): void {
      values.push(value)
      where.push(condition(`$${values.length}`))
    },
  }
}

/** Values of a statement, numbered after the existing ones, the first of which is the time. */
export const numberedValues = (values: Value[]): Binder => {
  const value = (given: Value): string => {
    values.push(given)
    return `$${values.length}`
  }
  return {
    value,
    oneOf: (column, list) => `${column} = ANY(${value([...list])}::text[])`,
    now: '$1::bigint',
  }
}

/** Listings have few shapes; each is prepared once, under its own name. */
export function createListings(prefix: string): (text: string) => Statement {
  const shapes = new Map<string, string>()
  return text => {
    const name = shapes.get(text) ?? `${prefix}_${shapes.size}`
    shapes.set(text, name)
    return { name, text }
  }
}
