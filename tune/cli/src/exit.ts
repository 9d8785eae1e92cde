/** Exit codes (contract T4), and the mapping from errors to them. */
import { AskError } from '@cairn-tune/bench'
import { UsageError } from '@cairn/tooling/cli'
import { DivergedError, OutOfMemoryError, RanksError } from '@cairn-tune/train'
import { InputError, UnsupportedError, WriteError } from '@cairn-tune/weights'

export { UsageError }

export const EXIT = {
  ok: { code: 0, means: 'done' },
  failure: { code: 1, means: 'failure; the message gives the reason' },
  usage: { code: 2, means: 'invalid command line, configuration or input' },
  memory: { code: 3, means: 'OOM: not enough memory' },
  unsupported: { code: 4, means: 'not supported by this release or on this machine' },
  interrupted: { code: 130, means: 'interrupted; a training run has saved a checkpoint' },
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]['code']

/** The engine's messages for a failed memory allocation. */
const NO_MEMORY = /cannot allocate \d+ bytes$|not enough memory for scratch space/

const CODES: readonly [kind: new (...args: never[]) => Error, code: ExitCode][] = [
  [UsageError, EXIT.usage.code],
  [InputError, EXIT.usage.code],
  [OutOfMemoryError, EXIT.memory.code],
  [UnsupportedError, EXIT.unsupported.code],
  [DivergedError, EXIT.failure.code],
  [RanksError, EXIT.failure.code],
  [AskError, EXIT.failure.code],
  [WriteError, EXIT.failure.code],
]

export type Failure = { code: ExitCode; message: string }

/** The system refused a file or an address. This is not a bug, so the stack is left out. */
const isOfSystem = (error: Error) => 'syscall' in error && 'code' in error

/**
 * Errors about input or an outcome are reported by their message. Any other error may be a bug and is
 * reported with its stack.
 */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { code: EXIT.failure.code, message: String(error) }
  const known = CODES.find(([kind]) => error instanceof kind)
  if (known) return { code: known[1], message: error.message }
  if (NO_MEMORY.test(error.message)) return { code: EXIT.memory.code, message: `OOM: ${error.message}` }
  if (isOfSystem(error)) return { code: EXIT.failure.code, message: error.message }
  return { code: EXIT.failure.code, message: error.stack ?? error.message }
}
