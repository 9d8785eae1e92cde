/** The arguments of podman for a container: what is visible, what is writable, and its limits. */
import { existsSync, lstatSync } from 'node:fs'
import { basename, join } from 'node:path'
import { RESERVED_DIR } from '@cairn/workspace'
import type { Bind, SandboxLimits, SandboxSpec } from './sandbox.ts'
import { SUPERVISOR_IN_SANDBOX } from './container-init.ts'
import { PROXY_IN_SANDBOX } from './forwarder.ts'
import { isBelow, READ_ONLY, SHM_MB } from './system-files.ts'

/** Labels that identify our containers. */
export const LABELS = { box: 'cairn.box', service: 'cairn.service', machine: 'cairn.machine' } as const

export type ContainerKind = {
  /** A name known to podman, or a path; null: podman's default. */
  runtime: string | null
  /** Flags for the runtime. */
  flags: readonly string[]
  /** An image by digest, or an empty folder: then the container shows the programs of this machine. */
  root: { image: string } | { folder: string }
  /** The file with the allowed system calls (container-seccomp.ts). */
  seccomp: string
}

export type ContainerView = Pick<SandboxSpec, 'id' | 'workspace' | 'network' | 'binds'> & {
  kind: ContainerKind
  name: string
  /** The socket that init connects to (container-init.ts). */
  leash: string
  limits: SandboxLimits
  hidden: readonly string[]
  labels: Readonly<Record<string, string>>
  /** User id of the service. */
  uid: number
  hasStdin: boolean
}

export const isGvisor = (runtime: string | null): boolean =>
  runtime !== null && basename(runtime).startsWith('runsc')

/** gVisor counts its own threads together with those of the sandbox. */
const GVISOR_THREADS = 256

/** Limit per user; the limit per sandbox is lower (--pids-limit). */
const MAX_PROCESSES = 4096

/** Unused id for the container's root, which runtimes require. No process of a sandbox gets it. */
const NOBODYS_ID = 0x70000000

/** podman parses a mount as a CSV line. */
const field = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const mount = ({ from, to, writable }: Bind): string[] => [
  '--mount',
  [
    'type=bind',
    field(`source=${from}`),
    field(`target=${to}`),
    ...(writable ? [] : ['readonly']),
    'bind-propagation=rprivate',
  ].join(','),
]
const readOnly = (path: string, to = path): string[] => mount({ from: path, to, writable: false })

/** Maps the service's user to 1000 in the container, so that it owns the files of the workspace. */
const users = (uid: number): string[] =>
  uid === 0
    ? ['--uidmap', '--gidmap'].flatMap(flag => [flag, `0:${NOBODYS_ID}:1`, flag, '1000:0:1'])
    : ['--userns', 'keep-id:uid=1000,gid=1000']

/** gVisor has its own network stack and kernel. */
const gvisorFlags = (runtime: string | null, network: SandboxSpec['network']): string[] =>
  isGvisor(runtime) ? [`network=${network === 'open' ? 'host' : 'none'}`, 'oci-seccomp'] : []

/** The arguments of podman, before the command. */
export function containerArguments(view: ContainerView): string[] {
  const { kind, id, name, workspace, network, binds = [], limits, hidden, labels, uid, leash } = view
  const saved = join(workspace, RESERVED_DIR)
  const isSystem = 'folder' in kind.root
  // Never a symbolic link: it would be followed outside the container and expose its target.
  const hasSaved = lstatSync(saved, { throwIfNoEntry: false })?.isDirectory() === true
  const flags = [...kind.flags, ...gvisorFlags(kind.runtime, network)]
  const pids = limits.pids + (isGvisor(kind.runtime) ? GVISOR_THREADS : 0)
  return [
    ...(kind.runtime === null ? [] : ['--runtime', kind.runtime]),
    ...flags.flatMap(flag => ['--runtime-flag', flag]),
    'run',
    '--rm',
    '--name',
    name,
    ...Object.entries({ ...labels, [LABELS.box]: id }).flatMap(([key, to]) => ['--label', `${key}=${to}`]),
    '--pull=never',
    '--log-driver=none',
    ...(view.hasStdin ? ['--interactive'] : []),
    `--network=${network === 'open' ? 'host' : 'none'}`,
    '--no-hosts',
    '--hostname=cairn',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    `--security-opt=seccomp=${kind.seccomp}`,
    '--security-opt=proc-opts=ro,nosuid,nodev,noexec',
    '--user=1000:1000',
    ...users(uid),
    '--read-only',
    '--read-only-tmpfs=false',
    `--tmpfs=/tmp:rw,nosuid,nodev,mode=1777,size=${limits.tmp_mb}m,notmpcopyup`,
    `--shm-size=${SHM_MB}m`,
    `--memory=${limits.memory_mb}m`,
    `--memory-swap=${limits.memory_mb}m`,
    `--pids-limit=${pids}`,
    `--cpus=${limits.cpus}`,
    // podman's defaults may exceed the limits of the service.
    `--ulimit=nofile=${limits.open_files}:${limits.open_files}`,
    `--ulimit=nproc=${MAX_PROCESSES}:${MAX_PROCESSES}`,
    ...(isSystem ? READ_ONLY.filter(path => existsSync(path)).flatMap(path => readOnly(path)) : []),
    ...(isSystem ? hidden.filter(path => READ_ONLY.some(folder => isBelow(folder, path))) : []).flatMap(
      path => ['--tmpfs', `${path}:ro,size=1m,notmpcopyup`],
    ),
    ...mount({ from: workspace, to: workspace, writable: true }),
    ...(hasSaved ? readOnly(saved) : []),
    ...binds.flatMap(mount),
    ...readOnly(leash, SUPERVISOR_IN_SANDBOX),
    ...(typeof network === 'object' ? readOnly(network.socket, PROXY_IN_SANDBOX) : []),
    `--workdir=${workspace}`,
    ...('folder' in kind.root ? ['--rootfs', kind.root.folder] : ['--entrypoint=', kind.root.image]),
  ]
}
