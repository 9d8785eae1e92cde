/**
 * How commands run, decided once when a worker starts: in a box; without one, if the configuration says so by
 * name; or not at all. It also has one sentence that says which.
 */
import { homedir } from 'node:os'
import type { Config } from '@cairn/protocol'
import type { SandboxProvider } from './box.ts'
import { type Bubblewrap, bubblewrapHolder, findBubblewrap } from './bubblewrap.ts'
import { type CgroupHome, claimHome } from './cgroup.ts'
import { openBox } from './open-box.ts'
import { findHolder, ownGroup } from './unboxed.ts'
import { createWatchdog } from './watchdog.ts'

export type Standing = {
  terminal: 'boxed' | 'unboxed' | 'not_offered'
  /** What a command can reach; null where there are none. */
  network: 'none' | 'open' | null
  /** All of it in a sentence or two, for people. */
  summary: string
}
/** `provider` is null exactly where the terminal is not offered. */
export type Sandbox = { provider: SandboxProvider | null; standing: Standing }

export type SandboxOptions = {
  config: Config['sandbox']
  /** PATH, where programs are looked for. */
  path: string | undefined
  /** Stays out of sight in a box: the data directory. So does the home of the service's user. */
  hidden?: readonly string[]
  /** Control groups are claimed for the process that runs commands, not for one that only looks. */
  claims?: boolean
}

const INSTEAD =
  'Install bubblewrap, or write `sandbox: {terminal: unboxed, network: open}` into the configuration ' +
  'to give commands the rights of this server.'

export async function chooseSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { config, path } = options
  if (config.terminal === 'unboxed') return chooseUnboxed(options)
  const found = await findBubblewrap(path)
  if ('reason' in found) return notOffered(found.reason)
  if (config.network === 'none' && !found.cutsNetwork)
    return notOffered('bubblewrap cannot cut a box off the network here, and sandbox.network is none')
  return chooseBox(found, options)
}

const notOffered = (reason: string): Sandbox => ({
  provider: null,
  standing: {
    terminal: 'not_offered',
    network: null,
    summary: `The terminal is not offered: ${reason}. ${INSTEAD}`,
  },
})

const NETWORK = {
  none: 'without a network',
  open: 'with the network of this machine, as sandbox.network: open says',
} as const

function chooseBox(found: Bubblewrap, { config, hidden = [], claims = true }: SandboxOptions): Sandbox {
  const { network } = config
  const home = claims ? claimHome(ownGroup()) : { reason: '' }
  const parts = { limits: config, home: homeOf(home), watchdog: createWatchdog() }
  const view = { features: found.features, tmp_mb: config.tmp_mb, hidden: [...hidden, homedir()] }
  return {
    provider: {
      kind: 'bubblewrap',
      network,
      cutsNetwork: found.cutsNetwork,
      caveat: null,
      open: spec => openBox(spec, { ...parts, holder: bubblewrapHolder(found, { ...spec, ...view }) }),
    },
    standing: {
      terminal: 'boxed',
      network,
      summary: `Commands run in a box (bubblewrap) ${NETWORK[network]}. ${describeLimits(home)}`,
    },
  }
}

async function chooseUnboxed({ config, path, claims = true }: SandboxOptions): Promise<Sandbox> {
  const home = homeOf(claims ? claimHome(ownGroup()) : { reason: '' })
  const findHeld = await findHolder(path, home?.path ?? ownGroup())
  const { kind, loses } = findHeld('/')
  const parts = { limits: config, home, watchdog: createWatchdog() }
  const ends =
    'What a command starts is ended with it (by ' +
    `${DESCRIBED[kind]})${loses === null ? '' : `, except ${loses}`}.`
  return {
    provider: {
      kind: 'unboxed',
      network: 'open',
      cutsNetwork: false,
      caveat: loses === null ? null : `${ends} This machine has nothing surer.`,
      open: spec => openBox(spec, { ...parts, holder: findHeld(spec.workspace) }),
    },
    standing: {
      terminal: 'unboxed',
      network: 'open',
      summary:
        'Commands run WITHOUT a box, with the rights and the network of this server, because the ' +
        `configuration says sandbox.terminal: unboxed. ${ends}`,
    },
  }
}

const DESCRIBED = {
  'pid namespace': 'a PID namespace',
  'control group': 'a control group',
  subreaper: 'a parent that adopts its orphans',
  marks: 'a mark in its environment',
} as const

const homeOf = (home: CgroupHome | { reason: string }): CgroupHome | null => ('reason' in home ? null : home)

function describeLimits(home: CgroupHome | { reason: string }): string {
  if (!('reason' in home))
    return `The kernel limits each command's ${[...home.controllers].join(', ')} as a whole.`
  return `Each process is limited by the kernel, a command as a whole by a watchdog.`
}
