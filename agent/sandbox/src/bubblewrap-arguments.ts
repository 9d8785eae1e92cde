/** The arguments of bwrap for a sandbox: what is visible, what is writable, and what is cut off. */
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { RESERVED_DIR } from '@cairn/workspace'
import type { SandboxSpec } from './sandbox.ts'
import { PROXY_IN_SANDBOX } from './forwarder.ts'
import { SERVICE_VARIABLE } from './service-folder.ts'
import { isBelow, READ_ONLY, SHM_MB } from './system-files.ts'

/** Features of the installed bwrap; older versions lack some. */
export type Features = {
  /**
   * Prevents processes in the sandbox from creating namespaces, and so from reaching most of the kernel code
   * that requires them.
   */
  locksNamespaces: boolean
  /** Limits the size of memory-backed file systems. */
  sizesTmpfs: boolean
}

export type SandboxView = Pick<SandboxSpec, 'workspace' | 'network' | 'binds' | 'nests'> & {
  features: Features
  tmp_mb: number
  /**
   * Folders that must stay hidden even if a visible system folder contains them: the data directory, the
   * home.
   */
  hidden?: readonly string[]
}

/** Parts of /proc that control the machine rather than a process. */
const SETTINGS = ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/acpi', '/proc/scsi']

/**
 * If the service runs as root, the sandboxed process owns the kernel's settings, one of which names a program
 * that the kernel starts outside every sandbox. A process that creates namespaces must write to /proc/self,
 * so for those only the settings are covered; a partly covered /proc cannot be mounted again either.
 */
const closedProc = (nests: boolean): string[] =>
  nests ? SETTINGS.flatMap(path => ['--ro-bind-try', path, path]) : ['--remount-ro', '/proc']

/** The arguments of bwrap, before the command. */
export function bubblewrapArguments(view: SandboxView): string[] {
  const { workspace, network, features, tmp_mb, hidden = [], binds = [], nests = false } = view
  const saved = join(workspace, RESERVED_DIR)
  // Never a symbolic link: bwrap would follow it outside the sandbox and expose its target.
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
    // It serves only the cleanup after a killed service, from outside.
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
    // The mount points themselves are memory-backed and need no writes.
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    '--chdir',
    workspace,
  ]
}
