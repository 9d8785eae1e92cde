/** The Postgres store from outside: its code and the driver are loaded by whoever opens one. */
import type { PostgresStoreOptions, SharedLogStore } from './store.ts'

export type { PostgresStoreOptions, SharedLogStore }

export const openPostgresStore = async (options: PostgresStoreOptions): Promise<SharedLogStore> =>
  (await import('./store.ts')).openPostgresStore(options)
