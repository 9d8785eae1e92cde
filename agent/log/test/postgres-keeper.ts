/**
 * Runs one Postgres server for everything that a test run starts, and stops it when that run ends, however it
 * ends. Started by postgres-place.ts: `node postgres-keeper.ts DIR PID_OF_THE_RUN`.
 */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from './postgres-server.ts'

const LOOK_MS = 500
const [dir = '', owner = ''] = process.argv.slice(2)

function publish(found: { url: string } | { error: string }): void {
  // Readers see the complete file or none.
  writeFileSync(join(dir, 'found.tmp'), JSON.stringify(found), { mode: 0o600 })
  renameSync(join(dir, 'found.tmp'), join(dir, 'found.json'))
}

function ownerLives(): boolean {
  try {
    process.kill(Number(owner), 0)
    return true
  } catch {
    // ESRCH: the run has ended.
    return false
  }
}

try {
  const server = await startPostgres(dir)
  publish({ url: server.url })
  const timer = setInterval(() => {
    if (ownerLives()) return
    clearInterval(timer)
    // Its data is not worth a checkpoint.
    void server.crash().then(() => rmSync(dir, { recursive: true, force: true }))
  }, LOOK_MS)
} catch (error) {
  publish({ error: error instanceof Error ? error.message : String(error) })
}
