/**
 * How commands run, decided once when a runner starts: in a sandbox; without one, if the configuration
 * explicitly says so; or not at all. Also describes the choice in one sentence.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Config, SandboxConfig } from '@cairn/protocol'
import type { Sandbox, SandboxProvider } from './sandbox.ts'
import { type Bubblewrap, bubblewrapContainer, findBubblewrap } from './bubblewrap.ts'
import { type CgroupHome, claimHome } from './cgroup.ts'
import { findContainers } from './choose-container.ts'
import { hasForwarder } from './forwarder.ts'
import { openSandbox } from './open-sandbox.ts'
import { createPolicyProxy, type PolicyProxy } from './policy-proxy.ts'
import { openServiceFolder, reapDeadServices, type ServiceFolder } from './service-folder.ts'
import { findProcessContainer, ownGroup } from './unsandboxed.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { createWatchdog } from './watchdog.ts'

export type SandboxStatus = {
  terminal: 'boxed' | 'unboxed' | 'not_offered'
  /** What a command can reach; null: no commands. */
  network: 'none' | 'proxy' | 'open' | null
  /** Everything in a sentence or two, for people. */
  summary: string
}
/** `provider` is null exactly if the terminal is not offered. */
export type SandboxChoice = {
  provider: SandboxProvider | null
  /** The proxies of its sandboxes; null: none. */
  proxy: PolicyProxy | null
  standing: SandboxStatus
  /** Creates a folder for what a sandbox needs besides its workspace; `close` removes it. */
  makeFolder(what: string): string
  /** Called by the creator of this choice, after its sandboxes are closed. */
  close(): Promise<void>
}

export type SandboxOptions = {
  config: Config['sandbox']
  /** The PATH in which programs are found. */
  path: string | undefined
  /** Folders hidden in a sandbox: the data directory. The home of the service's user is always hidden. */
  hidden?: readonly string[]
  /**
   * Whether to claim control groups and to remove what crashed services left. Set by the process that runs
   * commands, not by one that only checks.
   */
  claims?: boolean
}

const INSTEAD =
  'Install bubblewrap, or set `sandbox: {terminal: unboxed, network: open}` in the configuration ' +
  'to run commands with the rights of this server.'

export async function chooseSandbox(options: SandboxOptions): Promise<SandboxChoice> {
  if (options.claims === false) return inspectSandbox(options)
  // Before the folder of temporary files is listed, so that an unusable one is reported as such.
  const folder = await openServiceFolder()
  await reapDeadServices()
  const chosen = await choose(options, folder, folder.make)
  return {
    ...chosen,
    makeFolder: folder.make,
    async close() {
      await chosen.proxy?.close()
      await folder.close()
    },
  }
}

/** For a process that only checks and leaves no service folder. */
async function inspectSandbox(options: SandboxOptions): Promise<SandboxChoice> {
  const folder = makeTemporaryFolder('cairn-looks-')
  const makeFolder = (what: string): string => mkdtempSync(join(folder, `${what}-`))
  return {
    ...(await choose(options, null, makeFolder)),
    makeFolder,
    close: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  }
}

type Chosen = Omit<SandboxChoice, 'makeFolder' | 'close'>

async function choose(
  options: SandboxOptions,
  folder: ServiceFolder | null,
  makeFolder: SandboxChoice['makeFolder'],
): Promise<Chosen> {
  const { config, path } = options
  if (config.terminal === 'unboxed') return chooseUnboxed(options, folder)
  if (config.provider === 'container') return chooseContainer(options, folder)
  const found = await findBubblewrap({ path, makeFolder })
  if ('reason' in found) return notOffered(found.reason)
  if (config.network !== 'open' && !found.cutsNetwork)
    return notOffered(
      `bubblewrap cannot isolate the network on this machine, and sandbox.network is ${config.network}`,
    )
  return chooseBox(found, options, folder)
}

const notOffered = (reason: string, instead = INSTEAD): Chosen => ({
  provider: null,
  proxy: null,
  standing: {
    terminal: 'not_offered',
    network: null,
    summary: `The terminal is not available: ${reason}. ${instead}`,
  },
})

const NETWORK = {
  none: 'without a network',
  proxy: 'that reaches the network only through the policy proxy',
  open: 'with the network of this machine (`sandbox.network: open`)',
} as const

/** A network that this machine cannot provide is reduced, never extended. */
const networkHere = (wanted: SandboxConfig['network']): keyof typeof NETWORK =>
  wanted === 'proxy' && !hasForwarder() ? 'none' : wanted

function chooseBox(
  found: Bubblewrap,
  { config, hidden = [] }: SandboxOptions,
  folder: ServiceFolder | null,
): Chosen {
  const network = networkHere(config.network)
  const home = folder === null ? { reason: '' } : claimHome(ownGroup())
  const service = folder?.path ?? null
  const parts = { limits: config, home: homeOf(home), watchdog: createWatchdog(), service }
  const view = { features: found.features, tmp_mb: config.tmp_mb, hidden: [...hidden, homedir()] }
  const open = new Map<string, Sandbox>()
  const hasProxies = found.cutsNetwork && hasForwarder()
  return {
    provider: {
      kind: 'bubblewrap',
      network,
      cutsNetwork: found.cutsNetwork,
      hasProxies,
      holdsBrowsers: hasProxies,
      caveat: null,
      open(spec) {
        const tmp_mb = spec.limits?.tmp_mb ?? config.tmp_mb
        const holder = bubblewrapContainer(found, { ...spec, ...view, tmp_mb })
        const box = openSandbox(spec, { ...parts, holder, onClosed: () => open.delete(spec.id) })
        open.set(spec.id, box)
        return box
      },
      // Sandboxes of a crashed runner ended with it (--die-with-parent), so only its own exist.
      list: () => Promise.resolve([...open.keys()]),
      remove: async id => open.get(id)?.close(),
    },
    proxy: hasProxies ? proxyIn(folder, config) : null,
    standing: {
      terminal: 'boxed',
      network,
      summary:
        `Commands run in a sandbox (bubblewrap) ${NETWORK[network]}. ` +
        describeLimits(home) +
        (network === config.network ? '' : ' Perl is not installed (needed by sandbox.network: proxy).'),
    },
  }
}

async function chooseContainer(
  { config, path, hidden = [] }: SandboxOptions,
  folder: ServiceFolder | null,
): Promise<Chosen> {
  const found = await findContainers({ config, path, hidden: [...hidden, homedir()], folder })
  if ('reason' in found)
    return notOffered(
      found.reason,
      'See docs/sandbox.md for the requirements of sandbox.provider: container.',
    )
  const runtime = config.runtime === null ? '' : `, runtime ${config.runtime}`
  return {
    provider: found,
    proxy: proxyIn(folder, config),
    standing: {
      terminal: 'boxed',
      network: config.network,
      summary:
        `Commands run in a container (podman${runtime}) ${NETWORK[config.network]}. ` +
        "The kernel limits each command's memory, pids, cpu as a whole.",
    },
  }
}

const proxyIn = (folder: ServiceFolder | null, { ports }: SandboxConfig): PolicyProxy | null =>
  folder === null ? null : createPolicyProxy({ ports, folder: folder.make('p') })

async function chooseUnboxed(
  { config, path }: SandboxOptions,
  folder: ServiceFolder | null,
): Promise<Chosen> {
  const home = homeOf(folder === null ? { reason: '' } : claimHome(ownGroup()))
  const findHeld = await findProcessContainer(path, home?.path ?? ownGroup())
  const { kind, loses } = findHeld('/')
  const service = folder?.path ?? null
  const parts = { limits: config, home, watchdog: createWatchdog(), service }
  const ends =
    'Each process that a command starts is ended with it (by ' +
    `${DESCRIBED[kind]})${loses === null ? '' : `, except ${loses}`}.`
  return {
    provider: {
      kind: 'unboxed',
      network: 'open',
      cutsNetwork: false,
      hasProxies: false,
      holdsBrowsers: false,
      caveat: loses === null ? null : `${ends} This machine has no stronger mechanism.`,
      open: spec => openSandbox(spec, { ...parts, holder: findHeld(spec.workspace) }),
      list: () => Promise.resolve([]),
      remove: () => Promise.resolve(),
    },
    proxy: null,
    standing: {
      terminal: 'unboxed',
      network: 'open',
      summary:
        'Commands run WITHOUT a sandbox, with the rights and the network of this server, because the ' +
        `configuration sets \`sandbox.terminal: unboxed\`. ${ends}`,
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
