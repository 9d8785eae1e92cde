/** The data directory as the commands see it: where it is, and which server runs on it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

export const DEFAULT_PORT = 8787
export const DEFAULT_HOST = '127.0.0.1'

export const dataDirOf = (env: Environment): string => resolve(env['CAIRN_DATA'] || './data')

/**
 * Where a person or a program on this machine reaches what listens there: "every address" is none to go to.
 */
export function reachableUrl({
  address,
  family,
  port,
}: {
  address: string
  family: string
  port: number
}): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `http://${family === 'IPv6' ? `[${host}]` : host}:${port}`
}

export type RunningServer = { url: string; pid: number }
const FILE = 'server.json'

/** Tells commands on this machine where the server of the directory listens. Returns how to take it back. */
export function announceServer(dataDir: string, server: RunningServer): () => void {
  const file = join(dataDir, FILE)
  writeFileSync(file, `${JSON.stringify(server)}\n`, { mode: 0o600 })
  return () => {
    // Several servers may share the directory: the word of another one stays.
    if (findServer(dataDir)?.pid === server.pid) rmSync(file, { force: true })
  }
}

/** The server that runs on the directory; null when none does, whatever a killed one left behind. */
export function findServer(dataDir: string): RunningServer | null {
  try {
    const server = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as RunningServer
    process.kill(server.pid, 0)
    return server
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A process of another user is alive too; a file half written belongs to a server that just starts.
    if (code === 'EPERM')
      throw new Error(`[findServer] ${dataDir} is served by a process of another user`, { cause: error })
    if (code === 'ENOENT' || code === 'ESRCH' || error instanceof SyntaxError) return null
    throw error
  }
}
