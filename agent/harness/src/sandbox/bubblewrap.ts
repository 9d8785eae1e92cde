/**
 * The box: bubblewrap with its own user, process, IPC, network and mount namespaces. What is in it sees the
 * system's programs read-only, its workspace, and a private /tmp; no home, no data directory, no secrets of
 * the service or the machine.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { asError } from '@cairn/protocol'
import { bubblewrapArguments, type BoxView, type Features } from './bubblewrap-arguments.ts'
import { type Holder, type Leader, REPORT_FD } from './holder.ts'
import { heldByNamespace } from './pid-namespace.ts'
import { childrenOf } from './processes.ts'
import { COMMAND_PATH, findProgram } from './program.ts'

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
