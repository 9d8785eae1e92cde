/** The resources of a store on Postgres: every statement is a transaction of its own, on the pool. */
import { namedStatement } from '../engine/named-sql.ts'
import type { PostgresDeps } from '../engine/resource.ts'
import { mapResources, type ResourceStores } from '../resources/index.ts'
import type { Database } from './connections.ts'

const refuse = (): Promise<never> =>
  Promise.reject(new Error('[postgres store] it was opened for reading only'))

export function createResourceStores(
  db: Database,
  { now, itemChanged, readOnly }: Pick<PostgresDeps, 'now' | 'itemChanged'> & { readOnly: boolean },
): ResourceStores {
  const write: PostgresDeps['write'] = readOnly ? refuse : db.query
  const stores = mapResources<object>(({ sql, postgres }) => {
    const ask: PostgresDeps['ask'] = (name, values) => {
      if (sql === undefined) throw new Error(`[store] no statement is named ${name}`)
      const repeatable = sql.reads.includes(name)
      return (repeatable ? db.query : write)(namedStatement(sql, name), values, { repeatable })
    }
    return postgres.store({ db, now, write, ask, itemChanged })
  })
  return stores as ResourceStores
}
