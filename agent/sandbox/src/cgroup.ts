/**
 * Control groups (cgroup v2), if the service's own group is delegated to it: limits enforced by the kernel,
 * and the only way to end a group atomically (cgroup.kill).
 *
 *   <home>/                 the delegated group: systemd's unit with Delegate=yes
 *   <home>/server           the service moves itself there, because a group with processes cannot limit its
 *                           subgroups
 *   <home>/cairn-<pid>-<start>-<n>  one per command; <start> distinguishes services with the same pid
 */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import type { SandboxLimits } from './sandbox.ts'
import type { Cgroup, ContainedProcesses, ProcessContainer } from './process-container.ts'
import { identify, signalExactly, signalProcess, until } from './processes.ts'

type Controller = 'memory' | 'pids' | 'cpu'
export type CgroupHome = { path: string; controllers: ReadonlySet<Controller> }

const CONTROLLERS: readonly Controller[] = ['memory', 'pids', 'cpu']
const read = (...path: string[]): string => readFileSync(join(...path), 'utf8').trim()

/** The folder of this process's group; null without cgroup v2. */
export function findOwnGroup(mountInfo: string, ownGroups: string): string | null {
  const own = /^0::(\/.*)$/m.exec(ownGroups)?.[1]
  const mount = mountInfo
    .split('\n')
    .map(line => line.split(' '))
    .find(fields => fields[fields.indexOf('-') + 1] === 'cgroup2')
  if (own === undefined || mount === undefined) return null
  const [, , , root, mountPoint] = mount as [string, string, string, string, string]
  const inside = relative(root, own)
  // A group above the mounted part is not accessible.
  return inside.startsWith('..') ? null : join(mountPoint, inside)
}

/** With DelegateSubgroup= the service is one level below the delegated group. */
const isUnit = (path: string): boolean => /\.(?:service|scope)$/.test(basename(path))

/**
 * Prepares the service's group for limiting commands. Returns a reason instead if the group belongs to
 * another user or contains other processes.
 */
export function claimHome(own: string | null): CgroupHome | { reason: string } {
  if (own === null) return { reason: 'this machine has no cgroup v2 that the service can see' }
  try {
    const path = !isUnit(own) && isUnit(dirname(own)) ? dirname(own) : own
    const offered = CONTROLLERS.filter(name => read(path, 'cgroup.controllers').split(' ').includes(name))
    if (offered.length === 0) return { reason: `${path} has no controllers` }
    if (path === own) moveInto(join(path, 'server'), path)
    for (const name of offered) writeFileSync(join(path, 'cgroup.subtree_control'), `+${name}`)
    removeLeftovers(path)
    return { path, controllers: new Set(offered) }
  } catch (error) {
    return { reason: `the service's control group is not delegated to it (${asError(error).message})` }
  }
}

function moveInto(group: string, from: string): void {
  const others = read(from, 'cgroup.procs')
    .split('\n')
    .filter(pid => pid !== String(process.pid))
  if (others.length > 0) throw new Error(`${others.length} other processes are in ${from}`)
  mkdirSync(group, { recursive: true })
  writeFileSync(join(group, 'cgroup.procs'), String(process.pid))
}

const NAME = /^cairn-(\d+)-(\d+)-\d+$/

/** Groups of crashed services: ends their remaining processes and removes them. */
function removeLeftovers(home: string): void {
  for (const name of readdirSync(home)) {
    const [, pid, start] = NAME.exec(name) ?? []
    // Not one of our groups, or its service is alive.
    if (pid === undefined || identify(Number(pid))?.start === Number(start)) continue
    killGroup(join(home, name))
    removeGroup(join(home, name))
  }
}

/** Start time of this process, in kernel ticks. */
const began = identify(process.pid)?.start ?? 0
let made = 0

/** `limits` absent: no limits, the group only holds its processes together. */
export function makeCgroup(
  home: Pick<CgroupHome, 'path'> & Partial<CgroupHome>,
  limits?: SandboxLimits,
): Cgroup {
  const path = join(home.path, `cairn-${process.pid}-${began}-${(made += 1)}`)
  mkdirSync(path)
  if (limits !== undefined && home.controllers !== undefined) setLimits(path, home.controllers, limits)
  const kill = (): void => {
    if (existsSync(path)) killGroup(path)
  }
  const isEmpty = (): boolean => !existsSync(path) || /^populated 0$/m.test(read(path, 'cgroup.events'))
  return {
    join: argv => ['sh', '-c', 'echo 0 >"$0/cgroup.procs" && exec "$@"', path, ...argv],
    members: () => (existsSync(path) ? membersOf(path) : []),
    outOfMemory: () =>
      existsSync(join(path, 'memory.events')) && !/^oom_kill 0$/m.test(read(path, 'memory.events')),
    kill,
    async gone() {
      await until(() => {
        kill()
        return isEmpty()
      }, `processes of the command are still running in ${path} and could not be ended`)
      // Exited processes leave a group with a short delay.
      await until(() => removeGroup(path), `the control group ${path} could not be removed`)
    },
  }
}

function setLimits(path: string, controllers: CgroupHome['controllers'], limits: SandboxLimits): void {
  const set = (file: string, value: string | number): void => writeFileSync(join(path, file), String(value))
  if (controllers.has('memory')) {
    set('memory.max', limits.memory_mb * 2 ** 20)
    // Kill all or none: a partly killed build is useless.
    set('memory.oom.group', 1)
    if (existsSync(join(path, 'memory.swap.max'))) set('memory.swap.max', 0)
  }
  if (controllers.has('pids')) set('pids.max', limits.pids)
  if (controllers.has('cpu')) set('cpu.max', `${Math.round(limits.cpus * 100_000)} 100000`)
}

/** Processes of the group and of its subgroups that a command created. */
function membersOf(path: string): number[] {
  const own = read(path, 'cgroup.procs').split('\n').filter(Boolean).map(Number)
  return [...own, ...subgroups(path).flatMap(membersOf)]
}

const subgroups = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => join(path, name))

function killGroup(path: string): void {
  // Since Linux 5.14. Before, all members are killed repeatedly until none is left.
  if (existsSync(join(path, 'cgroup.kill'))) writeFileSync(join(path, 'cgroup.kill'), '1')
  else for (const pid of membersOf(path)) signalProcess(pid, 'SIGKILL')
}

function removeGroup(path: string): boolean {
  try {
    if (existsSync(path)) {
      for (const inner of subgroups(path)) removeGroup(inner)
      rmdirSync(path)
    }
    return true
  } catch (error) {
    if ((asError(error) as NodeJS.ErrnoException).code === 'EBUSY') return false
    throw error
  }
}

const run = promisify(execFile)

/** For systems without namespaces for commands; tested once. `own`: a group that may be divided. */
export async function findCgroupContainer(own: string | null): Promise<ProcessContainer | null> {
  if (own === null) return null
  try {
    const group = makeCgroup({ path: own })
    const [file, ...args] = group.join(['true']) as [string, ...string[]]
    await run(file, args, { timeout: 10_000 }).finally(() => group.gone())
  } catch {
    // The group cannot be divided, or is mounted read-only.
    return null
  }
  return {
    kind: 'control group',
    loses: 'one that moves itself out of its control group',
    countsApart: false,
    wrap(argv, group) {
      // A limited sandbox has already joined its group.
      if (group !== null) return { argv, hold: ({ pid }) => heldByCgroup(pid, group) }
      const made = makeCgroup({ path: own })
      return { argv: made.join(argv), hold: ({ pid }) => heldByCgroup(pid, made) }
    },
  }
}

function heldByCgroup(leader: number, group: Cgroup): ContainedProcesses {
  const first = identify(leader)
  return {
    members: () => group.members(),
    kill() {
      // It may not have joined yet.
      if (first !== null) signalExactly(first, 'SIGKILL')
      group.kill()
    },
    gone: () => group.gone(),
  }
}
