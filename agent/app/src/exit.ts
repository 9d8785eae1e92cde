/** Exit codes; `cairn help` prints this table. */
export const EXIT = {
  ok: { code: 0, means: 'done' },
  failure: { code: 1, means: 'it failed; the message says why' },
  usage: { code: 2, means: 'the command line is not understood' },
  notFound: { code: 3, means: 'the server does not answer, or there is no such thing there' },
  config: { code: 4, means: 'the configuration is not valid or asks for what this release cannot do' },
  inUse: { code: 5, means: 'the data directory or the port is in use' },
  waiting: { code: 6, means: 'the session waits for a person: an answer, an approval, an action, a resume' },
  interrupted: { code: 130, means: 'interrupted, or a second signal cut the drain short' },
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]['code']

/** Invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
/** The requested object does not exist. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}
/** Another process uses the port or the data directory. */
export class InUseError extends Error {
  override readonly name = 'InUseError'
}
