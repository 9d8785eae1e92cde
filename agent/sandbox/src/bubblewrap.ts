/**
 * The bubblewrap sandbox with its own user, process, IPC, network and mount namespaces. The program sees the
 * system's programs read-only, its workspace, and a private /tmp; no home, no data directory, no secrets of
 * the service or the machine.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import { bubblewrapArguments, type SandboxView, type Features } from './bubblewrap-arguments.ts'
import { isArchitecture, seccompFilter } from './bubblewrap-seccomp.ts'
import { type ProcessContainer, type Leader, REPORT_FD } from './process-container.ts'
import { containedByNamespace } from './pid-namespace.ts'
import { childrenOf } from './processes.ts'
import { COMMAND_PATH, findProgram } from './program.ts'

/** Files with the compiled filters: for a sandbox, and for one that creates its own sandboxes. */
type Filters = { plain: string; nests: string }
export type Bubblewrap = { program: string; filters: Filters; features: Features; cutsNetwork: boolean }

/**
 * bwrap reads the filter to its end, so each sandbox opens the file: a shared descriptor would be at its end.
 */
const FILTER_FD = 9
/** A browser is controlled over descriptors 3 and 4, and bwrap reports over 3. */
const LAST_OWN_FD = 4

/**
 * Descriptors that the service inherited stay open in every child of node, and bwrap passes them on: a
 * sandbox could write to a lock file or socket of the process that started the service.
 */
const ENTER =
  `for fd in /proc/self/fd/*; do fd=\${fd##*/}; ((fd > ${LAST_OWN_FD})) && exec {fd}>&-; done; ` +
  `exec "$@" ${FILTER_FD}<"$0"`

const filtered = (
  { program, filters }: Pick<Bubblewrap, 'program' | 'filters'>,
  { nests = false }: Pick<SandboxView, 'nests'>,
  args: readonly string[],
): readonly string[] => [
  'bash',
  // Without these, bash reads .bashrc if its input is a socket, and the file that BASH_ENV names.
  '--norc',
  '-p',
  '-c',
  ENTER,
  nests ? filters.nests : filters.plain,
  program,
  '--seccomp',
  String(FILTER_FD),
  ...args,
]

export function bubblewrapContainer(found: Bubblewrap, view: SandboxView): ProcessContainer {
  return {
    kind: 'pid namespace',
    loses: null,
    countsApart: true,
    wrap: (argv, _group, mayReport) => {
      const command = [...bubblewrapArguments(view), ...argv]
      if (!mayReport)
        return {
          argv: filtered(found, view, command),
          hold: ({ pid }) => containedByNamespace(pid, () => childrenOf(pid)[0]),
        }
      return {
        argv: filtered(found, view, ['--json-status-fd', String(REPORT_FD), ...command]),
        reports: true,
        hold(leader) {
          const report = readReport(leader)
          const findInit = () => report.init() ?? childrenOf(leader.pid)[0]
          return containedByNamespace(leader.pid, findInit, report.complete)
        },
      }
    },
  }
}

/**
 * bwrap reports the pid of the namespace's first process before the command starts. Only bwrap holds the
 * other end of the pipe, so it closes when bwrap exits.
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

export type FindOptions = {
  /** The PATH in which programs are found. */
  path: string | undefined
  /** Creates a folder of the service, for the filters. */
  makeFolder(what: string): string
  architecture?: string
}

/** Tests the sandbox: an installed bwrap is not enough if namespaces are disabled. */
export async function findBubblewrap({
  path,
  makeFolder,
  architecture = process.arch,
}: FindOptions): Promise<Bubblewrap | { reason: string }> {
  if (process.platform !== 'linux')
    return { reason: `bubblewrap needs Linux, but this is ${process.platform}` }
  // Without a filter a sandbox would reach the hypervisor (AF_VSOCK) and more of the kernel than it needs.
  if (!isArchitecture(architecture))
    return {
      reason: `the processor architecture ${architecture} is not supported (only x64 and arm64)`,
    }
  const program = findProgram('bwrap', path)
  if (program === null) return { reason: 'bubblewrap is not installed: bwrap is not in PATH' }
  const folder = makeFolder('seccomp')
  const filters: Filters = { plain: join(folder, 'plain'), nests: join(folder, 'nests') }
  for (const kind of ['plain', 'nests'] as const)
    writeFileSync(filters[kind], seccompFilter(architecture, { nests: kind === 'nests' }), { mode: 0o400 })
  const attempt = async (network: 'none' | 'open', features: Features): Promise<string | null> => {
    const view: SandboxView = { workspace: '/tmp', network, features, tmp_mb: 1 }
    const [file = '', ...args] = filtered({ program, filters }, view, bubblewrapArguments(view))
    try {
      await run(file, [...args, 'bash', '-c', 'exit 0'], {
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
      if (problem === null) return { program, filters, features, cutsNetwork: network === 'none' }
      refusal = problem
    }
  return {
    reason: `bubblewrap is installed (${program}) but cannot create a sandbox: ${refusal}${findCause()}`,
  }
}

async function readFeatures(program: string): Promise<Features> {
  const { stdout, stderr } = await run(program, ['--help'], { timeout: 10_000 }).catch((error: unknown) => ({
    stdout: '',
    stderr: asError(error).message,
  }))
  const help = stdout + stderr
  return { locksNamespaces: help.includes('--disable-userns'), sizesTmpfs: help.includes('--size') }
}

/** Settings known to refuse namespaces, and their required values. */
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
