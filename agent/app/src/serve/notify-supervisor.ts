/**
 * Reports the state of the service to systemd (`Type=notify`). Node has no Unix datagram sockets, so the
 * program systemd-notify sends the report; the unit needs `NotifyAccess=all`.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import type { Logger } from './logging.ts'

/** Assignments of sd_notify(3): systemd 252 has no option for STOPPING. */
const STATES = {
  ready: ['READY=1', 'STATUS=Ready'],
  stopping: ['STOPPING=1', 'STATUS=Draining'],
} as const

const TIMEOUT_MS = 10_000
const run = promisify(execFile)

/** Does nothing unless systemd started the service with a socket for reports. Never rejects. */
export async function notifySupervisor(
  env: Readonly<Record<string, string | undefined>>,
  state: keyof typeof STATES,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const { NOTIFY_SOCKET, PATH } = env
  if (!NOTIFY_SOCKET) return
  try {
    await run('systemd-notify', STATES[state], { env: { NOTIFY_SOCKET, PATH }, timeout: TIMEOUT_MS })
  } catch (error) {
    log.warn(
      'systemd was not notified: a unit of Type=notify needs the program systemd-notify in its PATH and ' +
        'NotifyAccess=all',
      { state, error: asError(error).message },
    )
  }
}
