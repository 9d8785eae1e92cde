/**
 * The last resort, where nothing holds the processes of a command together: what carries its mark in the
 * environment is found, and what an orphan does in its workspace. A process that empties its environment and
 * leaves the workspace is not; results say so.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { asError } from '@cairn/protocol'
import type { ContainedProcesses, ProcessContainer } from './process-container.ts'
import { allProcesses, identify, readStat, signalGroup, signalProcess } from './processes.ts'

/** In the environment of every command; descendants inherit it, so it finds the ones that called setsid. */
export const TAG_VARIABLE = 'CAIRN_TOOL_CALL'

export type Sweep = {
  /** Processes whose environment carries the mark, and orphans at work in the workspace. */
  marked: number[]
  /** Started since then and without an environment at the moment: one in the middle of exec has none. */
  undecided: number[]
  /**
   * Listed and then over before they were read: each may have left a child behind that was not there when the
   * list was made.
   */
  gone: number[]
}

const DEAD = new Set<string | undefined>(['ENOENT', 'ESRCH'])

export type Wanted = {
  mark: string
  workspace: string
  /** In ticks, when the command started. */ since: number
}

/** Looks at every process once. Linux only; elsewhere none are found. */
export async function findTagged({ mark, workspace, since }: Wanted, proc = '/proc'): Promise<Sweep> {
  const entries = await readdir(proc).catch(() => [] as string[])
  const sweep: Sweep = { marked: [], undecided: [], gone: [] }
  const look = async (pid: number): Promise<void> => {
    const environment = await readFile(`${proc}/${pid}/environ`, 'latin1').catch((error: unknown) =>
      DEAD.has((asError(error) as NodeJS.ErrnoException).code) ? '' : 'of another user',
    )
    if (environment.includes(`${TAG_VARIABLE}=${mark}\0`)) return void sweep.marked.push(pid)
    if ((readStat(pid, proc)?.start ?? Infinity) < since) return
    const place = await readlink(`${proc}/${pid}/cwd`).catch(() => '')
    if (isBelow(workspace, place) && isOrphan(pid, proc)) return void sweep.marked.push(pid)
    if (environment !== '') return
    // The dead have no program, and neither have the system's own threads.
    const hasProgram = await readlink(`${proc}/${pid}/exe`).then(
      () => true,
      () => false,
    )
    sweep[hasProgram ? 'undecided' : 'gone'].push(pid)
  }
  await Promise.all(
    entries
      .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map(name => look(Number(name))),
  )
  return sweep
}

const isBelow = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** Adopted by the system's first process or a user's manager. Somebody's shell in the workspace is not. */
function isOrphan(pid: number, proc: string): boolean {
  const parent = readStat(pid, proc)?.ppid
  if (parent === undefined || parent <= 1) return true
  try {
    return readFileSync(`${proc}/${parent}/comm`, 'latin1').trim() === 'systemd'
  } catch {
    return true
  }
}

/**
 * Kills what is found until a pass finds nothing. A process that forks faster than a few passes is reported.
 */
async function killTagged(wanted: Wanted): Promise<void> {
  // Together some ten seconds: on a busy machine a killed process may wait that long for its turn to die.
  const PASSES = 60
  // Together about a second: longer than an exec takes on such a machine. What has no environment then has
  // chosen so, and may be anybody's.
  const UNDECIDED_PASSES = 18
  const known = new Set<number>()
  let isLeft = false
  for (let pass = 0; pass < PASSES; pass += 1) {
    const { marked, undecided, gone } = await findTagged(wanted)
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

const hasProc = existsSync('/proc/self/stat')

export const tagContainer = (workspace: string): ProcessContainer => ({
  kind: 'marks',
  loses: hasProc
    ? 'one that leaves its group, empties its environment and leaves the workspace'
    : 'one that leaves its group',
  countsApart: false,
  wrap(argv) {
    const mark = randomUUID()
    return { argv, env: { [TAG_VARIABLE]: mark }, hold: ({ pid }) => containedByTags(pid, mark, workspace) }
  },
})

function containedByTags(leader: number, mark: string, workspace: string): ContainedProcesses {
  const first = identify(leader)
  const since = first?.start ?? 0
  // The group is the leader's for as long as one of it is there.
  const inGroup = (): number[] =>
    hasProc ? allProcesses().filter(pid => readStat(pid)?.group === leader) : [leader]
  return {
    members: inGroup,
    kill() {
      if (inGroup().length > 0) signalGroup(leader, 'SIGKILL')
    },
    gone: () => killTagged({ mark, workspace, since }),
  }
}
