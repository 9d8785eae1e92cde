/**
 * A PID namespace: when its first process (init) is killed, the kernel kills all others of it, and lets init
 * go only when they are gone. Whatever a process does to itself (a session of its own, an emptied
 * environment, a double fork), it stays in its namespace.
 *
 * Without bubblewrap it is made by unshare(1). Unlike in a box, everything else of the machine stays as it
 * is.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ContainedProcesses, ProcessContainer } from './process-container.ts'
import {
  childrenOf,
  descendantsOf,
  identify,
  isRunning,
  type ProcessId,
  signalExactly,
  signalGroup,
  until,
} from './processes.ts'
import { COMMAND_PATH, findProgram } from './program.ts'

/**
 * `findInit` may not know it at first. `known` resolves when it will say nothing new any more; init is in the
 * leader's group from its first moment on, so a group that is killed before has none that lives.
 */
export function containedByNamespace(
  leader: number,
  findInit: () => number | undefined,
  known: Promise<unknown> = Promise.resolve(),
): ContainedProcesses {
  const outer = identify(leader)
  let init: ProcessId | null = null
  const look = (): ProcessId | null => {
    const pid = init === null ? findInit() : undefined
    if (pid !== undefined) init = identify(pid)
    return init
  }
  const kill = (): void => {
    const inner = look()
    if (outer !== null && isRunning(outer)) signalGroup(leader, 'SIGKILL')
    if (inner !== null) signalExactly(inner, 'SIGKILL')
  }
  return {
    members: most => {
      const inner = look()
      return inner === null ? [] : descendantsOf(inner.pid, most)
    },
    kill,
    async gone() {
      await known
      kill()
      await until(
        () => [outer, init].every(process => process === null || !isRunning(process)),
        'processes of the command are still running and could not be ended',
      )
    },
  }
}

/**
 * The namespace's first process: collects the dead, and ends with its command. It says nothing itself, and is
 * no shell that the command could be asked to leave.
 */
const INIT = 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?'

const run = promisify(execFile)

/** Tried in this order. Without a user namespace only root may make a PID namespace. */
const WAYS = [
  { flags: ['--user', '--map-current-user', '--mount-proc'], loses: null },
  { flags: ['--user', '--map-current-user'], loses: null },
  { flags: ['--mount-proc'], loses: 'one that uses the rights of root to leave its namespace' },
] as const

/** unshare(1) in the way that works here; null where none does. */
export async function findNamespaceContainer(path: string | undefined): Promise<ProcessContainer | null> {
  const unshare = findProgram('unshare', path)
  if (unshare === null) return null
  const setpriv = findProgram('setpriv', path)
  // Ends with the service, even when that is killed.
  const withParent = setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL']
  for (const { flags, loses } of WAYS) {
    const prefix = [...withParent, unshare, ...flags, '--pid', '--fork', '--kill-child', '--']
    const wrap = (argv: readonly string[]) => [...prefix, 'bash', '-c', INIT, 'init', ...argv]
    const [file, ...args] = wrap(['true']) as [string, ...string[]]
    try {
      await run(file, args, { timeout: 10_000, env: { PATH: COMMAND_PATH } })
    } catch {
      // Refused here; the next way may not be.
      continue
    }
    return {
      kind: 'pid namespace',
      loses,
      countsApart: loses === null,
      wrap: argv => ({
        argv: wrap(argv),
        hold: ({ pid }) => containedByNamespace(pid, () => childrenOf(pid)[0]),
      }),
    }
  }
  return null
}
