/** Entry points of the Postgres store, which load its code and the driver only when they are called. */
import type { UpgradePlan } from '../engine/upgrade-plan.ts'
import type { PostgresStoreOptions, SharedLogStore } from './store.ts'
import type { UpgradeCheckOptions } from './upgrade-check.ts'

export type { PostgresStoreOptions, SharedLogStore }

export const openPostgresStore = async (options: PostgresStoreOptions): Promise<SharedLogStore> =>
  (await import('./store.ts')).openPostgresStore(options)

/** What the next start of this program does to the store. Throws NoStore or UnsupportedSchema. */
export const checkPostgresUpgrade = async (options: UpgradeCheckOptions): Promise<UpgradePlan> =>
  (await import('./upgrade-check.ts')).checkPostgresUpgrade(options)
