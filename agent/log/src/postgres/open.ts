/** Entry point of the Postgres store; loads its code and the driver only when a store is opened. */
import type { PostgresStoreOptions, SharedLogStore } from './store.ts'

export type { PostgresStoreOptions, SharedLogStore }

export const openPostgresStore = async (options: PostgresStoreOptions): Promise<SharedLogStore> =>
  (await import('./store.ts')).openPostgresStore(options)
