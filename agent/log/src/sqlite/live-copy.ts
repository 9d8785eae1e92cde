/** Copies the store of a data directory, even while another process serves it. */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { keepPrivate } from './keep-private.ts'
import { backupDb, openDb } from './adapter.ts'

export const DATABASE = 'cairn.db'

/** Copies the database at `path` to a file, or into a directory under its usual name. */
export async function copyDatabase(path: string, target: string): Promise<void> {
  const file = existsSync(target) && statSync(target).isDirectory() ? join(target, DATABASE) : target
  keepPrivate(file)
  const source = openDb(path, { readOnly: true })
  try {
    await backupDb(source, file)
  } finally {
    source.close()
  }
}

/**
 * The copy is a consistent snapshot, and the serving process is not interrupted. False if the directory has
 * no store.
 */
export async function copyLiveStore(dir: string, targetDir: string): Promise<boolean> {
  const path = join(dir, DATABASE)
  if (!existsSync(path)) return false
  await copyDatabase(path, join(targetDir, DATABASE))
  return true
}
