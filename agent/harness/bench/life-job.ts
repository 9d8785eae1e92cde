/** What the bench of a long life and its process say to each other, and who its sessions belong to. */
import { join } from 'node:path'
import { type LogStore, openPostgresStore, openSqliteStore } from '@cairn/log'
import type { Principal } from '@cairn/protocol'

/** `database`: the URL of a Postgres store; absent: the embedded store in `dir`. */
export type WakeJob = { dir: string; database?: string; session_id: string; turns: number }
export type WakeReport = {
  /** From the message to the request of the model on disk. */
  wake_ms: number
  /** How far the process grew past what it had before, at most, until the end of the turn. */
  more_mb: number
  /** Of the turns after it: from the message to the end. */
  turns_ms: number[]
  /** Characters of the snapshot at the end; 0 without one. */
  snapshot: number
}

export const openJobStore = ({ dir, database }: Pick<WakeJob, 'dir' | 'database'>): Promise<LogStore> =>
  database === undefined ? openSqliteStore({ dir: join(dir, 'log') }) : openPostgresStore({ url: database })

export const owner: Principal = {
  kind: 'user',
  id: 'user',
  org_id: 'org',
  admin: false,
  name: 'Bench',
  email: 'bench@example.org',
}
let ids = 0
export const newId = (): string => `id-${process.pid}-${(ids += 1)}`
