/** Containers as sandboxes: tested with each variant that a runtime may need, once, when a runner starts. */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { asError, type SandboxConfig } from '@cairn/protocol'
import type { SandboxProvider, SandboxLimits } from './sandbox.ts'
import { type ContainerKind, isGvisor, LABELS } from './container-arguments.ts'
import { type ContainerParts, openContainer } from './container-sandbox.ts'
import {
  type Engine,
  engineEnvironment,
  labelsOf,
  listContainers,
  reapContainers,
  removeContainer,
  seccompProfileOf,
} from './container-engine.ts'
import { narrowedProfile } from './container-seccomp.ts'
import { findProgram } from './program.ts'
import type { ServiceFolder } from './service-folder.ts'
import { makeTemporaryFolder } from './temporary-folder.ts'
import { createWatchdog } from './watchdog.ts'

export type ContainerOptions = {
  config: SandboxConfig
  path: string | undefined
  hidden: readonly string[]
  /** Null: the process only checks. */
  folder: ServiceFolder | null
}

/** gVisor opens sockets of the host only with an option that was renamed in 2023. */
const waysOf = (runtime: string | null): readonly (readonly string[])[] =>
  isGvisor(runtime) ? [['host-uds=open'], ['fsgofer-host-uds']] : [[]]

export async function findContainers(
  options: ContainerOptions,
): Promise<SandboxProvider | { reason: string }> {
  if (process.platform !== 'linux')
    return { reason: `containers need Linux, but this is ${process.platform}` }
  const program = findProgram('podman', options.path)
  if (program === null) return { reason: 'podman is not installed: podman is not in PATH' }
  const engine: Engine = { program, env: engineEnvironment(process.env) }
  try {
    return await tryContainers(engine, options)
  } catch (error) {
    return { reason: `podman is installed (${program}) but does not work: ${asError(error).message}` }
  }
}

async function tryContainers(
  engine: Engine,
  { config, hidden, folder }: ContainerOptions,
): Promise<SandboxProvider | { reason: string }> {
  const makeFolder = folder?.make ?? ((what: string) => makeTemporaryFolder(`cairn-${what}-`))
  const profile = await seccompProfileOf(engine)
  if (profile === null) return { reason: 'podman has no seccomp profile on this machine' }
  const seccomp = join(makeFolder('seccomp'), 'seccomp.json')
  writeFileSync(seccomp, narrowedProfile(readFileSync(profile, 'utf8')))
  const root = config.image === null ? { folder: emptyRoot(makeFolder('root')) } : { image: config.image }
  const parts = {
    engine,
    limits: config,
    hidden,
    labels: labelsOf(folder?.path ?? null),
    watchdog: createWatchdog(),
    makeFolder,
  }
  let refusal = ''
  for (const flags of waysOf(config.runtime)) {
    const kind: ContainerKind = { runtime: config.runtime, flags, root, seccomp }
    const problem = await probe({ ...parts, kind }).catch((error: unknown) => asError(error).message)
    if (problem !== null) {
      refusal = problem
      continue
    }
    if (folder !== null) await reapContainers(engine)
    return providerOf({ ...parts, kind }, config)
  }
  return { reason: `podman is installed (${engine.program}) but cannot create a sandbox: ${refusal}` }
}

/** Runtimes create their mount points; /tmp gets the mode of the folder that it covers. */
function emptyRoot(folder: string): string {
  mkdirSync(join(folder, 'tmp'))
  chmodSync(join(folder, 'tmp'), 0o1777)
  return folder
}

async function probe(parts: ContainerParts): Promise<string | null> {
  const workspace = parts.makeFolder('probe')
  const box = openContainer(
    { id: 'cairn-probe', workspace, env: {}, network: 'none', mayGrowFiles: true },
    parts,
  )
  try {
    const running = box.spawn(['bash', '-c', PROBE])
    const [said, complaint] = await Promise.all([text(running.stdout), text(running.stderr)])
    const { exitCode, overran } = await running.exited
    if (exitCode === 0 || exitCode === 1) return checkProbe(said, parts.limits)
    return overran ?? (complaint.trim().split('\n').at(-1) || `it exited with code ${exitCode} at once`)
  } finally {
    await box.close()
    rmSync(workspace, { recursive: true, force: true })
  }
}

function providerOf(parts: ContainerParts, config: SandboxConfig): SandboxProvider {
  const { engine } = parts
  return {
    kind: 'container',
    network: config.network,
    cutsNetwork: true,
    hasProxies: true,
    // A browser needs descriptors that podman does not pass on, and its own namespaces.
    holdsBrowsers: false,
    caveat: null,
    open: spec => openContainer(spec, parts),
    list: async () =>
      (await listContainers(engine, [LABELS.box])).flatMap(({ labels }) => labels[LABELS.box] ?? []),
    async remove(id) {
      for (const found of await listContainers(engine, [`${LABELS.box}=${id}`]))
        await removeContainer(engine, found.id)
    },
  }
}

/** One line each: the user, the capabilities, the interfaces, and the memory limits. */
const PROBE = [
  'echo "uid $(id -u)"',
  'grep -E "^(CapEff|CapBnd|NoNewPrivs):" /proc/self/status',
  'echo "interfaces $(tail -n +3 /proc/net/dev | cut -d: -f1 | xargs)"',
  'cd /sys/fs/cgroup 2>/dev/null',
  'cat memory.max memory/memory.limit_in_bytes 2>/dev/null | sed "s/^/memory /"',
  'sed -n "s/^MemTotal: *\\([0-9]*\\) kB/memory \\1000/p" /proc/meminfo',
  'touch /made 2>/dev/null && echo made',
].join('\n')

/**
 * The first deviation from the isolation that a container must have, for people; null: none. A weaker sandbox
 * is never used.
 */
export function checkProbe(said: string, { memory_mb }: Pick<SandboxLimits, 'memory_mb'>): string | null {
  const valueOf = (name: RegExp): string | undefined => name.exec(said)?.[1]?.trim()
  const memory = [...said.matchAll(/^memory (\d+)$/gm)].map(([, bytes]) => Number(bytes))
  if (valueOf(/^uid (\d+)$/m) !== '1000') return 'its commands run as the wrong user'
  for (const set of ['CapEff', 'CapBnd'])
    if (!/^0+$/.test(valueOf(new RegExp(`^${set}:(.*)$`, 'm')) ?? '')) return `it keeps capabilities (${set})`
  if (valueOf(/^NoNewPrivs:(.*)$/m) === '0') return 'its commands can gain privileges'
  if (!/^(?:lo)?$/.test(valueOf(/^interfaces(.*)$/m) ?? '?')) return 'it has a network'
  if (/^made$/m.test(said)) return 'its root file system is writable'
  // A value in units of 1000 is slightly smaller than in units of 1024.
  return Math.min(...memory) <= memory_mb * 2 ** 20 ? null : 'its memory is not limited'
}
