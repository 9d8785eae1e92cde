/** The service's end of a container's leash (container-init.ts): one connection, that of init. */
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { ASK_TO_END, environmentMessage, type InitOutcome, readOutcome } from './container-init.ts'

export type ProcessSupervisor = {
  /** Absolute path of the socket. */
  socket: string
  /** False: nobody holds the other end. */
  askToEnd(): boolean
  /** What init said so far. */
  outcome(): InitOutcome | null
  /** Ends the container, as soon as it would begin. */
  cut(): void
}

/** `folder` is new and the leash's own; it goes with it. */
export function createProcessSupervisor(
  folder: string,
  env: Readonly<Record<string, string>>,
): ProcessSupervisor {
  const socket = join(folder, 's')
  let held: Socket | null = null
  let said = ''
  // What runs in the container could connect too: the first is init, before anything else runs there.
  const server = createServer(connection => {
    server.close()
    held = connection
    connection.on('error', () => connection.destroy())
    connection.on('data', (data: Buffer) => {
      said = (said + data.toString('latin1')).slice(0, 100)
    })
    connection.write(environmentMessage(env))
  })
  // Without a socket init ends the container, and podman's exit says so.
  server.on('error', () => server.close())
  server.maxConnections = 1
  server.listen(socket)
  return {
    socket,
    askToEnd: () => held?.writable === true && (held.write(ASK_TO_END) || true),
    outcome: () => readOutcome(said),
    cut() {
      server.close()
      held?.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
