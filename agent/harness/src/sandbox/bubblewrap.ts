/**
 * The box: bubblewrap with its own user, process, IPC, network and mount namespaces. What is in it sees the
 * system's programs read-only, its workspace, and a private /tmp; no home, no data directory, no secrets of
 * the service or the machine.
 */
import { execFile } from 'node:child_process'
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import { RESERVED_DIR } from '@cairn/workspace'
import type { BoxSpec } from './box.ts'
import { DOOR_IN_BOX } from './forwarder.ts'
import { type Holder, type Leader, REPORT_FD } from './holder.ts'
import { heldByNamespace } from './pid-namespace.ts'
import { childrenOf } from './processes.ts'
import { COMMAND_PATH, findProgram } from './program.ts'

/**
 * Programs, libraries, and the few files of /etc that programs need to run at all. Passwords and keys are not
 * among them: a service that runs as root would read them even in the box.
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
  '/etc/pki/ca-trust',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/certs',
  '/etc/pki/tls/openssl.cnf',
  '/etc/protocols',
  '/etc/resolv.conf',
  '/etc/services',
  '/etc/ssl/cert.pem',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/timezone',
]

/** What an installed bwrap can do; older ones know less. */
type Features = {
  /** Keeps what is in the box from making namespaces, and so from most of the kernel that needs them. */
  locksNamespaces: boolean
  /** Bounds memory that is used as a disk. */
  sizesTmpfs: boolean
}

export type BoxView = Pick<BoxSpec, 'workspace' | 'network' | 'binds' | 'nests'> & {
  features: Features
  tmp_mb: number
  /** Folders nothing in a box may see even where a system folder holds them: the data directory, the home. */
  hidden?: readonly string[]
}

const isBelow = (folder: string, path: string) => path.startsWith(folder + '/')
const SHM_MB = 64

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
function bubblewrapArguments(view: BoxView): string[] {
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
    ...(typeof network === 'object' ? ['--ro-bind', network.socket, DOOR_IN_BOX] : []),
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

export type Bubblewrap = { program: string; features: Features; cutsNetwork: boolean }

export function bubblewrapHolder({ program }: Bubblewrap, view: BoxView): Holder {
  return {
    kind: 'pid namespace',
    loses: null,
    countsApart: true,
    wrap: (argv, _group, mayReport) => {
      const command = [...bubblewrapArguments(view), ...argv]
      if (!mayReport)
        return {
          argv: [program, ...command],
          hold: ({ pid }) => heldByNamespace(pid, () => childrenOf(pid)[0]),
        }
      return {
        argv: [program, '--json-status-fd', String(REPORT_FD), ...command],
        reports: true,
        hold(leader) {
          const report = readReport(leader)
          const findInit = () => report.init() ?? childrenOf(leader.pid)[0]
          return heldByNamespace(leader.pid, findInit, report.complete)
        },
      }
    },
  }
}

/**
 * bwrap tells the number of the namespace's first process before the command begins. The other end of the
 * pipe is bwrap's alone, so it closes when bwrap is over.
 */
function readReport(leader: Leader): { init: () => number | undefined; complete: Promise<void> } {
  let text = ''
  const pipe = leader.stdio?.[REPORT_FD] as Readable
  pipe.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
  })
  return {
    init: () => {
      const pid = /"child-pid": (\d+)/.exec(text)?.[1]
      return pid === undefined ? undefined : Number(pid)
    },
    complete: new Promise(resolve => pipe.once('close', () => resolve())),
  }
}

const run = promisify(execFile)

/**
 * Tries the box, for real: being installed is not enough where namespaces are switched off. `path` is where
 * programs are looked for.
 */
export async function findBubblewrap(
  path: string | undefined,
  workspace = '/tmp',
): Promise<Bubblewrap | { reason: string }> {
  if (process.platform !== 'linux') return { reason: `bubblewrap needs Linux, this is ${process.platform}` }
  const program = findProgram('bwrap', path)
  if (program === null) return { reason: 'bubblewrap is not installed: there is no bwrap in PATH' }
  const attempt = async (network: 'none' | 'open', features: Features): Promise<string | null> => {
    const view = { workspace, network, features, tmp_mb: 1 }
    try {
      await run(program, [...bubblewrapArguments(view), 'bash', '-c', 'exit 0'], {
        timeout: 10_000,
        env: { PATH: COMMAND_PATH },
      })
      return null
    } catch (thrown) {
      const error = asError(thrown) as NodeJS.ErrnoException & { stderr?: string }
      return (error.stderr || error.message).trim().split('\n')[0] ?? 'it failed'
    }
  }
  const known = await readFeatures(program)
  const ways = [known, { ...known, locksNamespaces: false }]
  let refusal = ''
  for (const network of ['none', 'open'] as const)
    for (const features of ways) {
      const problem = await attempt(network, features)
      if (problem === null) return { program, features, cutsNetwork: network === 'none' }
      refusal = problem
    }
  return { reason: `bubblewrap is installed (${program}) and cannot make a box: ${refusal}${findCause()}` }
}

async function readFeatures(program: string): Promise<Features> {
  const { stdout, stderr } = await run(program, ['--help'], { timeout: 10_000 }).catch((thrown: unknown) => ({
    stdout: '',
    stderr: asError(thrown).message,
  }))
  const help = stdout + stderr
  return { locksNamespaces: help.includes('--disable-userns'), sizesTmpfs: help.includes('--size') }
}

/** Settings that are known to refuse namespaces, and what each would have to be. */
const SWITCHES = [
  ['/proc/sys/user/max_user_namespaces', '0', 'sysctl user.max_user_namespaces is 0'],
  ['/proc/sys/kernel/unprivileged_userns_clone', '0', 'sysctl kernel.unprivileged_userns_clone is 0'],
  [
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    '1',
    'AppArmor restricts user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns is 1)',
  ],
] as const

function findCause(): string {
  const set = SWITCHES.find(
    ([file, value]) => existsSync(file) && readFileSync(file, 'utf8').trim() === value,
  )
  if (set !== undefined) return `; ${set[2]}`
  return existsSync('/.dockerenv') || existsSync('/run/.containerenv')
    ? '; this is a container, whose seccomp profile must allow user namespaces'
    : ''
}
