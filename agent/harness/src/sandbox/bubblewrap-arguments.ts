/** What bwrap is told of a box: what is seen in it, what may be written, what it is cut off from. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { RESERVED_DIR } from '@cairn/workspace'
import type { SandboxSpec } from './sandbox.ts'
import { PROXY_IN_SANDBOX } from './forwarder.ts'
import { SERVICE_VARIABLE } from './service-folder.ts'
import { isBelow, READ_ONLY, SHM_MB } from './system-files.ts'

/** What an installed bwrap can do; older ones know less. */
export type Features = {
  /** Keeps what is in the box from making namespaces, and so from most of the kernel that needs them. */
  locksNamespaces: boolean
  /** Bounds memory that is used as a disk. */
  sizesTmpfs: boolean
}

export type SandboxView = Pick<SandboxSpec, 'workspace' | 'network' | 'binds' | 'nests'> & {
  features: Features
  tmp_mb: number
  /** Folders nothing in a box may see even where a system folder holds them: the data directory, the home. */
  hidden?: readonly string[]
}

/** What of /proc changes the machine rather than a process. */
const SETTINGS = ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/acpi', '/proc/scsi']

/**
 * Of a service that runs as root, what is in the box owns the settings of the kernel, one of which names a
 * program that the kernel starts outside of every box. Who makes namespaces must write to /proc/self, so
 * there the settings alone are covered; a /proc that is covered in part cannot be mounted anew either.
 */
const closedProc = (nests: boolean): string[] =>
  nests ? SETTINGS.flatMap(path => ['--ro-bind-try', path, path]) : ['--remount-ro', '/proc']

/** The arguments of bwrap, before the command. */
export function bubblewrapArguments(view: SandboxView): string[] {
  const { workspace, network, features, tmp_mb, hidden = [], binds = [], nests = false } = view
  const saved = join(workspace, RESERVED_DIR)
  // Never through a link: bwrap would follow it out here and show what it leads to.
  const hasSaved = lstatSync(saved, { throwIfNoEntry: false })?.isDirectory() === true
  const tmpfs = (path: string, mb: number) => [
    ...(features.sizesTmpfs ? ['--size', String(mb * 2 ** 20)] : []),
    '--tmpfs',
    path,
  ]
  return [
    '--unshare-user',
    ...(features.locksNamespaces && !nests ? ['--disable-userns'] : []),
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network === 'open' ? [] : ['--unshare-net']),
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
    // It is for who looks after a service that was killed, from outside.
    '--unsetenv',
    SERVICE_VARIABLE,
    '--hostname',
    'cairn',
    ...READ_ONLY.flatMap(path => ['--ro-bind-try', path, path]),
    ...hidden
      .filter(path => READ_ONLY.some(folder => isBelow(folder, path)))
      .flatMap(path => ['--tmpfs', path]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...tmpfs('/dev/shm', SHM_MB),
    ...tmpfs('/tmp', tmp_mb),
    '--bind',
    workspace,
    workspace,
    ...(hasSaved ? ['--ro-bind', saved, saved] : []),
    ...binds.flatMap(({ from, to, writable }) => [writable ? '--bind' : '--ro-bind', from, to]),
    ...(typeof network === 'object' ? ['--ro-bind', network.socket, PROXY_IN_SANDBOX] : []),
    ...closedProc(nests),
    // What holds the mounts together is memory as well: nobody writes there.
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    '--chdir',
    workspace,
  ]
}
