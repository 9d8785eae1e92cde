/**
 * The temporary files of one service process, all in one folder: sockets of its proxies, folders of its
 * browsers. Who owns a folder is told by the kernel and not by a name: the service listens on a socket in it,
 * and a connection to the socket of a process that is gone is refused, whatever killed it. The next service
 * that starts removes such folders, and what their boxes left running.
 */
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { allProcesses, identify, type ProcessId, signalExactly } from './processes.ts'

const PREFIX = 'cairn-service-'
const ALIVE = 'alive.sock'
/** The machine: a folder on a disk that several share is left alone by the others. */
const OWNER = 'machine'

/** In the environment of what starts a box, for whoever comes after a service that was killed. */
export const SERVICE_VARIABLE = 'CAIRN_SERVICE_FOLDER'

export type ServiceFolder = {
  /** Absolute; nobody else may enter it. */
  path: string
  /** A folder in it that is new. */
  make(what: string): string
  close(): Promise<void>
}

export async function openServiceFolder(parent = tmpdir()): Promise<ServiceFolder> {
  const path = mkdtempSync(join(parent, PREFIX))
  writeFileSync(join(path, OWNER), hostname())
  const server = createServer(socket => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    // It stays after the start: a connection that could not be accepted must not end the process.
    server.on('error', reject)
    server.listen(join(path, ALIVE), resolve)
  })
  // It is there for as long as the process, and does not keep it.
  server.unref()
  return {
    path,
    make: what => mkdtempSync(join(path, `${what}-`)),
    close: () =>
      new Promise(resolve => {
        server.close(() => {
          rmSync(path, { recursive: true, force: true })
          resolve()
        })
      }),
  }
}

export type Reaped = { folders: number; processes: number }

/** Removes what services of this user on this machine left that are no more. */
export async function reapDeadServices(parent = tmpdir()): Promise<Reaped> {
  const reaped = { folders: 0, processes: 0 }
  for (const name of readdirSync(parent).filter(each => each.startsWith(PREFIX))) {
    const path = join(parent, name)
    if (!isOurs(path) || !(await isDeadService(path))) continue
    for (const left of startedBy(path)) {
      signalExactly(left, 'SIGKILL')
      reaped.processes += 1
    }
    rmSync(path, { recursive: true, force: true })
    reaped.folders += 1
  }
  return reaped
}

/** A folder, no link, of this user and this machine. */
function isOurs(path: string): boolean {
  try {
    const stats = lstatSync(path)
    const isPrivate = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0
    return isPrivate && readFileSync(join(path, OWNER), 'utf8') === hostname()
  } catch {
    // Gone in between, or not finished: its service is about to write it.
    return false
  }
}

/** True only where the kernel says that nobody listens on the socket that is there. */
export const isDeadService = (folder: string): Promise<boolean> => isDead(join(folder, ALIVE))

const isDead = (socket: string): Promise<boolean> =>
  new Promise(resolve => {
    const connection = connect(socket, () => {
      connection.destroy()
      resolve(false)
    })
    connection.once('error', thrown =>
      resolve((asError(thrown) as NodeJS.ErrnoException).code === 'ECONNREFUSED'),
    )
  })

/** The processes that began a box of that service: its folder is in the environment that they began with. */
function startedBy(folder: string): ProcessId[] {
  const mark = `${SERVICE_VARIABLE}=${folder}\0`
  return allProcesses().flatMap(pid => {
    const process = identify(pid)
    return process !== null && environmentOf(pid).includes(mark) ? [process] : []
  })
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1')
  } catch {
    // Over, or another user's.
    return ''
  }
}
