/**
 * The last resort when nothing holds the processes of a command together: finds processes with its tag in
 * the environment, and orphans in its workspace. A process that clears its environment and leaves the
 * workspace is not found; results say so.
 */
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { asError } from '@cairn/protocol'
import type { ContainedProcesses, ProcessContainer } from './process-container.ts'
import { allProcesses, identify, readStat, signalGroup, signalProcess } from './processes.ts'

/** Set in the environment of every command; descendants inherit it, even after setsid. */
export const TAG_VARIABLE = 'CAIRN_TOOL_CALL'

export type Sweep = {
  /** Processes whose environment contains the tag, and orphans in the workspace. */
  marked: number[]
  /** Started since then and without an environment at the moment, as in the middle of exec. */
  undecided: number[]
  /** Listed but gone before they were read: each may have left a child that is not in the list. */
  gone: number[]
}

const DEAD = new Set<string | undefined>(['ENOENT', 'ESRCH'])

export type Wanted = {
  mark: string
  workspace: string
  /** Start time of the command, in ticks. */ since: number
}

/** Reads every process once. Linux only; finds none elsewhere. */
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
    // Zombies and kernel threads have no program.
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

/** Adopted by the system's first process or a user manager. A person's shell in the workspace is not. */
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
 * Kills what is found until a pass finds nothing. A process that forks faster than several passes is
 * reported.
 */
async function killTagged(wanted: Wanted): Promise<void> {
  // About ten seconds in total: on a busy machine a killed process may take that long to exit.
  const PASSES = 60
  // About a second in total: longer than an exec takes on a busy machine. A process still without an
  // environment chose that, and may be any process.
  const UNDECIDED_PASSES = 18
  const known = new Set<number>()
  let isLeft = false
  for (let pass = 0; pass < PASSES; pass += 1) {
    const { marked, undecided, gone } = await findTagged(wanted)
    isLeft = marked.length > 0
    // Unreaped zombies stay listed but have no more children.
    const isSettled = undecided.length === 0 && gone.every(pid => known.has(pid))
    if (!isLeft && (isSettled || pass >= UNDECIDED_PASSES)) return
    for (const pid of gone) known.add(pid)
    for (const pid of marked) signalProcess(pid, 'SIGKILL')
    // A killed process is listed until it is reaped, so wait briefly.
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
  // The group id stays the leader's as long as one member exists.
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
