/** The data directory as the commands use it: its path, and the server that runs on it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** What was learned from the refusals of model servers, for the service and for `cairn doctor`. */
export const learnedFactsFile = (dataDir: string): string => join(dataDir, 'model-servers.json')

export const DEFAULT_PORT = 8787
export const DEFAULT_HOST = '127.0.0.1'

export const dataDirOf = (env: Environment): string => resolve(env['CAIRN_DATA'] || './data')

/** The URL for clients on this machine; the wildcard address is replaced, because it is not a destination. */
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

/**
 * `public_url` is the address for people, if one is configured. `path` is the PATH in which the server looks
 * for programs; null: it has none.
 */
export type RunningServer = { url: string; pid: number; path: string | null; public_url?: string }
const FILE = 'server.json'

/** Publishes the server's address for commands on this machine. Returns a function that withdraws it. */
export function announceServer(dataDir: string, server: RunningServer): () => void {
  const file = join(dataDir, FILE)
  writeFileSync(file, `${JSON.stringify(server)}\n`, { mode: 0o600 })
  return () => {
    // Several servers may share the directory: do not remove another one's entry.
    if (findServer(dataDir)?.pid === server.pid) rmSync(file, { force: true })
  }
}

/** The server that runs on the directory; null if none does, even if a killed one left its entry behind. */
export function findServer(dataDir: string): RunningServer | null {
  try {
    const server = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as RunningServer
    process.kill(server.pid, 0)
    return server
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // EPERM: a process of another user is alive too. A partially written file belongs to a server that is
    // starting.
    if (code === 'EPERM')
      throw new Error(`[findServer] ${dataDir} is served by a process of another user`, { cause: error })
    if (code === 'ENOENT' || code === 'ESRCH' || error instanceof SyntaxError) return null
    throw error
  }
}
