/** Ends every process a command left behind, also those that left its process group. */
import { readFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
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

/** When a process started, in ticks since the machine did; undefined where there is none, or no /proc. */
export function startOf(pid: number, proc = '/proc'): number | undefined {
  try {
    // The name in brackets may hold anything; the 20th field behind it is the 22nd of all.
    const stat = readFileSync(`${proc}/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  } catch {
    return undefined
  }
}

export type Sweep = {
  /** Processes whose environment carries the mark. */
  marked: number[]
  /** Started since then and without an environment at the moment: one in the middle of exec has none. */
  undecided: number[]
  /**
   * Listed and then over before they were read: each may have left a child behind that was not there when the
   * list was made.
   */
  gone: number[]
}

/** Looks at every process once. Linux only; elsewhere none are found. */
export async function findMarked(mark: string, since = Infinity, proc = '/proc'): Promise<Sweep> {
  const entries = await readdir(proc).catch(() => [] as string[])
  const wanted = `${MARK_VARIABLE}=${mark}\0`
  const sweep: Sweep = { marked: [], undecided: [], gone: [] }
  await Promise.all(
    entries
      .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(async name => {
        const pid = Number(name)
        const environment = await readFile(`${proc}/${name}/environ`, 'latin1').catch((thrown: unknown) =>
          DEAD.has((asError(thrown) as NodeJS.ErrnoException).code) ? '' : 'of another user',
        )
        if (environment.includes(wanted)) sweep.marked.push(pid)
        if (environment !== '' || (startOf(pid, proc) ?? Infinity) < since) return
        // The dead have no program, and neither have the system's own threads.
        const hasProgram = await readlink(`${proc}/${name}/exe`).then(
          () => true,
          () => false,
        )
        sweep[hasProgram ? 'undecided' : 'gone'].push(pid)
      }),
  )
  return sweep
}

const DEAD = new Set<string | undefined>(['ENOENT', 'ESRCH'])

/**
 * Asks the processes of a command to end. Those inside a box are asked one by one: a signal to the group
 * would end bwrap first, and with it everything else unasked.
 */
export async function terminateMarked(mark: string, leader: number): Promise<void> {
  const names = await Promise.all(
    (await findMarked(mark)).marked.map(
      async pid => [pid, await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')] as const,
    ),
  )
  const asked = names.filter(([, name]) => name !== '' && name.trim() !== 'bwrap')
  if (asked.length === 0) return signalGroup(leader, 'SIGTERM')
  for (const [pid] of asked) signalProcess(pid, 'SIGTERM')
}

/**
 * Kills marked processes until a pass finds none; `since` is when the command started. A process that forks
 * faster than a few passes is reported.
 */
export async function killMarked(mark: string, since: number | undefined): Promise<void> {
  // Together some ten seconds: on a busy machine a killed process may wait that long for its turn to die.
  const PASSES = 60
  // Together about a second: longer than an exec takes on such a machine. What has no environment then has
  // chosen so, and may be anybody's.
  const UNDECIDED_PASSES = 18
  const known = new Set<number>()
  let isLeft = false
  for (let pass = 0; pass < PASSES; pass += 1) {
    const { marked, undecided, gone } = await findMarked(mark, since)
    isLeft = marked.length > 0
    // The dead that nobody collects are listed for long, and have no more children.
    const isSettled = undecided.length === 0 && gone.every(pid => known.has(pid))
    if (!isLeft && (isSettled || pass >= UNDECIDED_PASSES)) return
    for (const pid of gone) known.add(pid)
    for (const pid of marked) signalProcess(pid, 'SIGKILL')
    // A killed process is listed until it is reaped; give the kernel its moment.
    await new Promise(resolve => setTimeout(resolve, Math.min(5 * (pass + 1), 200)))
  }
  if (isLeft) throw new Error('processes of the command are still running and could not be ended')
}
