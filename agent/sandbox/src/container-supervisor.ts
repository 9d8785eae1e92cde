/** The service's end of the connection to a container's init (container-init.ts). */
import { rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { ASK_TO_END, environmentMessage, type InitOutcome, readOutcome } from './container-init.ts'

export type ProcessSupervisor = {
  /** Absolute path of the socket. */
  socket: string
  /** False: the connection is closed. */
  askToEnd(): boolean
  /** Init's report so far. */
  outcome(): InitOutcome | null
  /** Ends the container, even if it has not started yet. */
  cut(): void
}

/** `folder` is new and used by nothing else; it is removed with the connection. */
export function createProcessSupervisor(
  folder: string,
  env: Readonly<Record<string, string>>,
): ProcessSupervisor {
  const socket = join(folder, 's')
  let held: Socket | null = null
  let said = ''
  // A program in the container could connect too, but init connects first, before anything else runs.
  const server = createServer(connection => {
    server.close()
    held = connection
    connection.on('error', () => connection.destroy())
    connection.on('data', (data: Buffer) => {
      said = (said + data.toString('latin1')).slice(0, 100)
    })
    connection.write(environmentMessage(env))
  })
  // Without the socket init ends the container, and podman's exit reports it.
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
