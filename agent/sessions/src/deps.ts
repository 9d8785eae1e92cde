import type { LogStore } from '@cairn/log'

/** Dependencies of every command: the store, the clock (epoch milliseconds) and new ids. */
export type Deps = { store: LogStore; now: () => number; newId: () => string }
