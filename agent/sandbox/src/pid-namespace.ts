/**
 * A PID namespace: when its first process (init) is killed, the kernel kills all others in it and releases
 * init only after they are gone. Whatever a process does (a new session, a cleared environment, a double
 * fork), it stays in its namespace.
 *
 * Without bubblewrap it is created by unshare(1). Unlike in a sandbox, everything else of the machine stays
 * visible.
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
 * `findInit` may not know the pid at first. `known` resolves when it will not change any more. Init is in the
 * leader's group from the start, so a group killed earlier leaves no live init.
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
 * The namespace's first process: reaps zombies, and exits with its command. It prints nothing itself, and is
 * not a shell that the command could ask to exit.
 */
const INIT = 'exec 3>&2 2>/dev/null; "$@" 2>&3 3>&-; exit $?'

const run = promisify(execFile)

/** Tried in this order. Without a user namespace only root may create a PID namespace. */
const WAYS = [
  { flags: ['--user', '--map-current-user', '--mount-proc'], loses: null },
  { flags: ['--user', '--map-current-user'], loses: null },
  { flags: ['--mount-proc'], loses: 'one that uses the rights of root to leave its namespace' },
] as const

/** unshare(1) in the first variant that works here; null: none. */
export async function findNamespaceContainer(path: string | undefined): Promise<ProcessContainer | null> {
  const unshare = findProgram('unshare', path)
  if (unshare === null) return null
  const setpriv = findProgram('setpriv', path)
  // Exits with the service, even if that is killed.
  const withParent = setpriv === null ? [] : [setpriv, '--pdeathsig', 'KILL']
  for (const { flags, loses } of WAYS) {
    const prefix = [...withParent, unshare, ...flags, '--pid', '--fork', '--kill-child', '--']
    const wrap = (argv: readonly string[]) => [...prefix, 'bash', '-c', INIT, 'init', ...argv]
    const [file, ...args] = wrap(['true']) as [string, ...string[]]
    try {
      await run(file, args, { timeout: 10_000, env: { PATH: COMMAND_PATH } })
    } catch {
      // Refused here; the next variant may work.
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
