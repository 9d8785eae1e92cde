/** The statements of listings, made of the conditions that a query gives. */
import type { Statement, Value } from './connections.ts'

/** Conditions of a listing with their values, numbered as they come. */
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

/** Listings have few shapes; each is prepared once, under a name of its own. */
export function createListings(): (text: string) => Statement {
  const shapes = new Map<string, string>()
  return text => {
    const name = shapes.get(text) ?? `listing_${shapes.size}`
    shapes.set(text, name)
    return { name, text }
  }
}
