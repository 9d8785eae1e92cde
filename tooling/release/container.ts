/**
 * Runs an image as a cluster does: as its user, without capabilities, on a read-only root. Podman runs it
 * where it can. A machine inside a container often refuses that; there the same layers run in a mount
 * namespace with the same user, mounts and arguments.
 */
import { type ChildProcessByStdio, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createInterface } from 'node:readline'
import { NotRun } from './as-user.ts'
import type { ImageConfig } from './containerfile.ts'
import { USER_ID } from './root-filesystem.ts'

/** A command that takes longer hangs. */
const TIMEOUT_MS = 120_000

type Manifest = { Config: string; RepoTags: [string]; Layers: string[] }

type Variables = Readonly<Record<string, string>>

/** A way to run programs of one image, all with the same volumes. */
export type Runtime = {
  /** How the image runs, for the table. */
  name: string
  config: ImageConfig
  /** A command line that runs `program` as the image runs its own. */
  command(program: readonly string[], variables: Variables): [string, ...string[]]
  /** Sends a signal to the first process of the container that the command line with this pid runs. */
  kill(pid: number, signal: NodeJS.Signals): void
  close(): void
}

/** Unpacks the parts of an image archive that describe it. */
function readArchive(archive: string, folder: string): { manifest: Manifest; config: ImageConfig } {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xf', archive, '-C', folder])
  const read = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'))
  const [manifest] = read('manifest.json') as [Manifest]
  return { manifest, config: (read(manifest.Config) as { config: ImageConfig }).config }
}

/** Names of the files of an image that belong to its user, as the archives of the layers state them. */
export function ownedByUser(archive: string, work: string): string[] {
  const folder = mkdtempSync(join(work, 'layers-'))
  const { manifest } = readArchive(archive, folder)
  const lines = manifest.Layers.flatMap(layer =>
    execFileSync('tar', ['--numeric-owner', '-tvzf', join(folder, layer)], {
      encoding: 'utf8',
      maxBuffer: 64 * 2 ** 20,
    }).split('\n'),
  )
  return lines.flatMap(line => {
    const [, owner, name] = /^\S+\s+(\d+\/\d+)\s+\d+\s+\S+\s+\S+\s+(.*)$/.exec(line) ?? []
    return name !== undefined && owner?.split('/').includes(String(USER_ID))
      ? [name.replace(/^\.|\/$/g, '')]
      : []
  })
}

/** Podman where it works, else a namespace. Throws NotRun if this machine allows neither. */
export function openRuntime(archive: string, work: string): Runtime {
  const folder = mkdtempSync(join(work, 'container-'))
  const { manifest, config } = readArchive(archive, folder)
  const podman = tryPodman(archive, manifest, config)
  if (typeof podman !== 'string') return podman
  if (process.getuid?.() !== 0)
    throw new NotRun(`${podman}, and a namespace with the user of the image needs root`)
  return openNamespace(manifest, config, folder, podman)
}

const LIMITS = ['--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--network=host']

/** The runtime, or why there is none. */
function tryPodman(archive: string, { RepoTags: [image] }: Manifest, config: ImageConfig): Runtime | string {
  if (spawnSync('podman', ['--version']).error !== undefined) return 'podman is not installed'
  const name = `cairn-release-check-${process.pid}`
  // New volumes get the owner that the image states.
  const volumes = Object.keys(config.Volumes ?? {}).map((path, at) => ({ volume: `${name}-${at}`, path }))
  const podman = (...args: string[]) => spawnSync('podman', args, { encoding: 'utf8', timeout: TIMEOUT_MS })
  const runtime: Runtime = {
    name: 'podman',
    config,
    command: (program, variables) => [
      'podman',
      'run',
      '--rm',
      ...LIMITS,
      ...volumes.map(({ volume, path }) => `--volume=${volume}:${path}`),
      ...Object.entries(variables).map(([key, value]) => `--env=${key}=${value}`),
      `--entrypoint=${JSON.stringify(program)}`,
      `--label=${name}`,
      image,
    ],
    kill: (_pid, signal) => {
      const [id = ''] = podman('ps', '--quiet', `--filter=label=${name}`).stdout.split('\n')
      podman('kill', `--signal=${signal}`, id)
    },
    close() {
      podman('volume', 'rm', '--force', ...volumes.map(({ volume }) => volume))
      podman('rmi', '--force', image)
    },
  }
  const loaded = podman('load', '--input', archive)
  const [, ...trial] = runtime.command([...(config.Entrypoint ?? []), '--version'], {})
  const tried = loaded.status === 0 ? podman(...trial) : loaded
  if (tried.status === 0) return runtime
  runtime.close()
  return `podman failed (${tried.stderr.trim().split('\n').at(-1)})`
}

/** Folders for the volumes of an image, which belong to its user. */
function makeVolumes(folder: string, { Volumes = {} }: ImageConfig): string[] {
  return Object.keys(Volumes).map(path => {
    const from = join(folder, 'volumes', path)
    mkdirSync(from, { recursive: true })
    chownSync(from, USER_ID, USER_ID)
    return `${from}:${path}`
  })
}

const UNSHARE = ['unshare', '--mount', '--pid', '--fork', '--kill-child'] as const

/** Mounts what a container runtime mounts, then becomes the user of the image. $1 is the root. */
const ENTER = `
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
mount --rbind /dev "$1/dev"
root=$1 volumes=$2
shift 2
for volume in $volumes; do mount --bind "\${volume%%:*}" "$root\${volume#*:}"; done
exec chroot "$root" /usr/bin/setpriv --reuid=${USER_ID} --regid=${USER_ID} --clear-groups \\
  --bounding-set=-all --inh-caps=-all --no-new-privs /usr/bin/env -i "$@"
`

function openNamespace(manifest: Manifest, config: ImageConfig, folder: string, why: string): Runtime {
  const top = join(folder, 'root')
  mkdirSync(top)
  for (const layer of manifest.Layers)
    execFileSync('tar', ['--numeric-owner', '-xpzf', join(folder, layer), '-C', top])
  const enter = ['sh', '-ec', ENTER, 'sh', top, makeVolumes(folder, config).join(' ')]
  return {
    name: `namespace, because ${why}`,
    config,
    command: (program, variables) => [
      ...UNSHARE,
      ...enter,
      ...(config.WorkingDir === undefined ? [] : [`--chdir=${config.WorkingDir}`]),
      ...config.Env,
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      ...program,
    ],
    kill(pid, signal) {
      // unshare waits for its child, which is the first process of the container.
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
      for (const child of children.split(' ')) process.kill(Number(child), signal)
    },
    close() {},
  }
}

export type RunningContainer = {
  url: string
  /** Seconds from the start of the container until it answered that it is ready. */
  seconds: number
  /** Ends the container with a signal and returns its exit code. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
  /** What the service wrote to its log. */
  log(): string
}

/** Starts the service and waits until it is ready. */
export async function startService(runtime: Runtime, variables: Variables): Promise<RunningContainer> {
  const from = performance.now()
  const program = [...(runtime.config.Entrypoint ?? []), 'serve', '--json']
  const [command, ...args] = runtime.command(program, variables)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit') as Promise<[number | null]>
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (log += text))
  const url = await firstUrl(child, ended, () => log)
  const { status } = await fetch(`${url}/readyz`)
  if (status !== 200) throw new Error(`/readyz returned ${status}`)
  return {
    url,
    seconds: (performance.now() - from) / 1000,
    async end(signal) {
      runtime.kill(child.pid ?? 0, signal)
      const [code] = await ended
      return code
    },
    log: () => log,
  }
}

/** Runs a program of the image to its end and returns its stdout. */
export function runProgram(runtime: Runtime, program: readonly string[], variables: Variables): string {
  const [command, ...args] = runtime.command(program, variables)
  return execFileSync(command, args, { encoding: 'utf8', timeout: TIMEOUT_MS, stdio: 'pipe' })
}

async function firstUrl(
  child: ChildProcessByStdio<null, Readable, Readable>,
  ended: Promise<unknown>,
  log: () => string,
): Promise<string> {
  const early = ended.then(() => {
    throw new Error(
      `the container ended before it was ready: ${log().trim().split('\n').slice(-3).join('; ')}`,
    )
  })
  const line = once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  const [text] = (await Promise.race([line, early])) as [string]
  return (JSON.parse(text) as { url: string }).url
}

/** A port that was free a moment ago: the health check needs to know it before the service listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
