/**
 * The box a terminal command runs in: bubblewrap with its own process, IPC and mount namespaces. It sees the
 * system's programs read-only, its workspace, and a private /tmp; no home, no data directory, no secrets of
 * the service.
 */
import { execFile } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import { RESERVED_DIR } from '@cairn/workspace'

export type Sandbox =
  | { kind: 'bubblewrap'; /** Whether it can cut the network off. */ cutsNetwork: boolean }
  | { kind: 'none'; reason: string }

/**
 * Programs, libraries, and the few files of /etc that programs need to run at all. Passwords and keys are not
 * among them.
 */
const READ_ONLY = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/ca-certificates.conf',
  '/etc/crypto-policies',
  '/etc/fonts',
  '/etc/group',
  '/etc/hosts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/passwd',
  '/etc/pki',
  '/etc/protocols',
  '/etc/resolv.conf',
  '/etc/services',
  '/etc/ssl',
  '/etc/timezone',
]

export type BoxOptions = {
  workspace: string
  network: boolean
  /** Folders no command may see even where a system folder holds them: the data directory, the home. */
  hidden?: readonly string[]
}

const isBelow = (folder: string, path: string) => path.startsWith(folder + '/')

/** The arguments of bwrap that run `command` in the box. */
export function bubblewrapArguments(
  { workspace, network, hidden = [] }: BoxOptions,
  command: readonly string[],
): string[] {
  const saved = join(workspace, RESERVED_DIR)
  // Never through a link: bwrap would follow it out here and show what it leads to.
  const hasSaved = lstatSync(saved, { throwIfNoEntry: false })?.isDirectory() === true
  return [
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network ? [] : ['--unshare-net']),
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
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
    '--tmpfs',
    '/tmp',
    '--bind',
    workspace,
    workspace,
    ...(hasSaved ? ['--ro-bind', saved, saved] : []),
    '--chdir',
    workspace,
    ...command,
  ]
}

const run = promisify(execFile)

/**
 * Tries the box once, for real: being installed is not enough where unprivileged namespaces are switched off.
 */
export async function probeSandbox(program = 'bwrap', workspace = '/tmp'): Promise<Sandbox> {
  if (process.platform !== 'linux')
    return { kind: 'none', reason: `bubblewrap needs Linux, this is ${process.platform}` }
  const attempt = (network: boolean) =>
    run(program, bubblewrapArguments({ workspace, network }, ['/bin/sh', '-c', 'exit 0']), {
      timeout: 10_000,
      env: {},
    })
  try {
    await attempt(true)
  } catch (thrown) {
    const error = asError(thrown) as NodeJS.ErrnoException & { stderr?: string }
    if (error.code === 'ENOENT')
      return { kind: 'none', reason: 'bubblewrap is not available: bwrap is not installed' }
    return {
      kind: 'none',
      reason: `bubblewrap is not available: ${(error.stderr ?? error.message).trim().split('\n')[0] ?? 'it failed'}`,
    }
  }
  return {
    kind: 'bubblewrap',
    cutsNetwork: await attempt(false).then(
      () => true,
      () => false,
    ),
  }
}
