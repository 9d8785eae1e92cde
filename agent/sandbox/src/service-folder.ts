/**
 * The temporary files of one service process in one folder: sockets of its proxies, folders of its browsers.
 * Ownership is determined by the kernel and not by a name: the service listens on a socket in the folder, and
 * connecting to the socket of a dead process is refused, whatever killed it. The next service that starts
 * removes such folders, and what their sandboxes left running.
 */
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'
import { allProcesses, identify, type ProcessId, signalExactly } from './processes.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'

const PREFIX = 'cairn-service-'
const ALIVE = 'alive.sock'
/** Identifies the machine: other machines that share the disk leave the folder alone. */
const OWNER = 'machine'

/** Set in the environment of a sandbox's launcher, for cleanup after the service was killed. */
export const SERVICE_VARIABLE = 'CAIRN_SERVICE_FOLDER'

export type ServiceFolder = {
  /** Absolute; private to this user. */
  path: string
  /** Creates a folder in it. */
  make(what: string): string
  close(): Promise<void>
}

export async function openServiceFolder(parent = tmpdir()): Promise<ServiceFolder> {
  const path = makeTemporaryFolder(PREFIX, parent)
  writeFileSync(join(path, OWNER), hostname())
  const server = createServer(socket => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    // The handler stays after the start: a failed accept must not end the process.
    server.on('error', reject)
    server.listen(join(path, ALIVE), resolve)
  })
  // It lives as long as the process but does not keep it alive.
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

/** Removes what dead services of this user on this machine left. */
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

/** A folder, not a symbolic link, of this user and this machine. */
function isOurs(path: string): boolean {
  try {
    const stats = lstatSync(path)
    const isPrivate = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0
    return isPrivate && readFileSync(join(path, OWNER), 'utf8') === hostname()
  } catch {
    // Removed in the meantime, or its service has not written it yet.
    return false
  }
}

/** True only if the kernel reports that no process listens on the existing socket. */
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

/** The processes that started a sandbox of that service, found by the folder in their initial environment. */
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
    // Gone, or another user's.
    return ''
  }
}
