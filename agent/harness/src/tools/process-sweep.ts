/** Ends every process a command left behind, also those that left its process group. */
import { readdir, readFile } from 'node:fs/promises'
import { asError } from '@cairn/protocol'

/** In the environment of every command; descendants inherit it, so it finds the ones that called setsid. */
export const MARK_VARIABLE = 'CAIRN_TOOL_CALL'

/** Sends a signal to a whole process group. */
export const signalGroup = (leader: number, signal: NodeJS.Signals): void => signalProcess(-leader, signal)

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (thrown) {
    // Gone already is what we want.
    if ((asError(thrown) as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown
  }
}

/** Processes whose environment carries the mark. Linux only; elsewhere none are found. */
async function findMarked(mark: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => [] as string[])
  const wanted = `${MARK_VARIABLE}=${mark}\0`
  const found = await Promise.all(
    entries.filter(name => /^\d+$/.test(name)).map(async name => {
      // Unreadable: another user's, or gone since the listing. Neither is ours.
      const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '')
      return environment.includes(wanted) ? [Number(name)] : []
    }),
  )
  return found.flat().filter(pid => pid !== process.pid)
}

/**
 * Asks the processes of a command to end. Those inside a box are asked one by one: a signal to the group would end bwrap first, and
 * with it everything else unasked.
 */
export async function terminateMarked(mark: string, leader: number): Promise<void> {
  const names = await Promise.all((await findMarked(mark)).map(async pid => [pid, await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')] as const))
  const asked = names.filter(([, name]) => name !== '' && name.trim() !== 'bwrap')
  if (asked.length === 0) return signalGroup(leader, 'SIGTERM')
  for (const [pid] of asked) signalProcess(pid, 'SIGTERM')
}

/** Kills marked processes until a pass finds none; a process that forks faster than a few passes is reported. */
export async function killMarked(mark: string): Promise<void> {
  // Together some ten seconds: on a busy machine a killed process may wait that long for its turn to die.
  const PASSES = 60
  for (let pass = 0; pass < PASSES; pass += 1) {
    const pids = await findMarked(mark)
    if (pids.length === 0) return
    for (const pid of pids) signalProcess(pid, 'SIGKILL')
    // A killed process is listed until it is reaped; give the kernel its moment.
    await new Promise(resolve => setTimeout(resolve, Math.min(5 * (pass + 1), 200)))
  }
  throw new Error('processes of the command are still running and could not be ended')
}
