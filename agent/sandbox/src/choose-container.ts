/** Containers as sandboxes: tested with each variant that a runtime may need, once, when a runner starts. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { asError, type SandboxConfig } from '@cairn/protocol'
import type { SandboxProvider } from './sandbox.ts'
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
import { checkProbe, PROBE } from './container-probe.ts'
import { findProgram } from './program.ts'
import type { ServiceFolder } from './service-folder.ts'
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
  const makeFolder = folder?.make ?? ((what: string) => mkdtempSync(join(tmpdir(), `cairn-${what}-`)))
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
