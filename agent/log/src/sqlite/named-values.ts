/** Named parameters of a statement on the embedded store. */
import type { Binder } from '../engine/session-query.ts'
import type { SqlValue } from './adapter.ts'

export type NamedValues = Record<string, SqlValue>

export function namedValues(now: number): { binder: Binder; values: NamedValues } {
  const values: NamedValues = { now }
  const value = (given: string | number): string => {
    const name = `v${Object.keys(values).length}`
    values[name] = given
    return `:${name}`
  }
  return {
    values,
    binder: {
      value,
      oneOf: (column, list) => `${column} IN (SELECT value FROM json_each(${value(JSON.stringify(list))}))`,
      now: ':now',
    },
  }
}

/** The values that a statement uses, because node:sqlite rejects unknown names. */
export const used = (values: NamedValues, sql: string): NamedValues =>
  Object.fromEntries(Object.entries(values).filter(([name]) => new RegExp(`:${name}\\b`).test(sql)))
