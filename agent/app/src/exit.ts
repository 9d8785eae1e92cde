/** Exit codes, which `cairn help` prints, and the errors that have one. */
export { UsageError } from '@cairn/tooling/cli'

export const EXIT = {
  ok: { code: 0, means: 'done' },
  failure: { code: 1, means: 'failed; see the message' },
  usage: { code: 2, means: 'invalid command line' },
  notFound: { code: 3, means: 'the server does not respond, or the requested object does not exist' },
  config: { code: 4, means: 'invalid or unsupported configuration' },
  inUse: { code: 5, means: 'the data directory or the port is in use' },
  waiting: { code: 6, means: 'the session is waiting for an answer, an approval, an action or a resume' },
  interrupted: { code: 130, means: 'interrupted, or stopped by a second signal while draining' },
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]['code']

/** The requested object does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}
/** Another process uses the port or the data directory. */
export class InUseError extends Error {
  override readonly name = 'InUseError'
}
