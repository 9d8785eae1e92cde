/** Rejects request parameters that have no effect here. */
import { isDeepStrictEqual } from 'node:util'
import { badRequest } from '../errors.ts'
import type { Parameter } from './parameter.ts'
import { PARAMETERS } from './tables.ts'

const isAsked = (row: Extract<Parameter, { refused: string }>, value: unknown, body: object) =>
  value !== null &&
  value !== undefined &&
  !(Array.isArray(value) && value.length === 0) &&
  !row.but?.some(
    free => isDeepStrictEqual(free, value) || (free === 'n' && value === (('n' in body && body.n) || 1)),
  )

/** Throws for an unsupported or unknown key. */
export function checkParameters(route: string, body: Readonly<Record<string, unknown>>): void {
  const table = PARAMETERS[route] ?? {}
  for (const [key, value] of Object.entries(body)) {
    const row = Object.hasOwn(table, key) ? table[key] : undefined
    if (!row)
      throw badRequest(
        `Unknown parameter ${JSON.stringify(key)} of ${route}. Unknown parameters are not ignored.`,
        key,
      )
    if ('refused' in row && isAsked(row, value, body))
      throw badRequest(`${key} is not supported: ${row.refused}.`, key)
  }
}
