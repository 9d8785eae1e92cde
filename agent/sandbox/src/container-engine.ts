/** Runs podman: finds the containers with our labels, and ends them. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { z } from 'zod'
import { LABELS } from './container-arguments.ts'
import { isDeadService } from './service-folder.ts'

const CALL_MS = 30_000
const run = promisify(execFile)

export type Engine = { program: string; env: Readonly<Record<string, string>> }

/** Variables that podman reads; secrets of the service are excluded. */
const VARIABLES =
  /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|XDG_[A-Z_]+|DBUS_SESSION_BUS_ADDRESS|CONTAINERS_[A-Z_]+|STORAGE_[A-Z_]+)$/

export const engineEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      VARIABLES.test(name) && value !== undefined ? [[name, value]] : [],
    ),
  )

const Listed = z.array(
  z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullable().default({}) }),
)
export type Container = { id: string; labels: Readonly<Record<string, string>> }

/** Parses the output of `podman ps --format json`. */
export const readContainers = (json: string): Container[] =>
  Listed.parse(JSON.parse(json)).map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }))

/** Containers with all of these labels, running or not. */
export async function listContainers(
  { program, env }: Engine,
  labels: readonly string[],
): Promise<Container[]> {
  const filters = labels.flatMap(label => ['--filter', `label=${label}`])
  const { stdout } = await run(program, ['ps', '--all', '--format', 'json', ...filters], {
    env,
    timeout: CALL_MS,
  })
  return readContainers(stdout)
}

/** Path of podman's own seccomp profile; null: it has none. */
export async function seccompProfileOf({ program, env }: Engine): Promise<string | null> {
  const asked = [
    'info',
    '--format',
    '{{.Host.Security.SECCOMPEnabled}} {{.Host.Security.SECCOMPProfilePath}}',
  ]
  const { stdout } = await run(program, asked, { env, timeout: CALL_MS })
  return /^true (\/.+)$/.exec(stdout.trim())?.[1] ?? null
}

/** Ends the container and everything in it; a missing one is not an error. */
export async function removeContainer({ program, env }: Engine, container: string): Promise<void> {
  await run(program, ['rm', '--force', '--ignore', '--time', '0', container], { env, timeout: CALL_MS })
}

/** Removes containers of this machine's dead services; returns their number. */
export async function reapContainers(engine: Engine): Promise<number> {
  const ours = await listContainers(engine, [`${LABELS.machine}=${hostname()}`])
  let removed = 0
  for (const { id, labels } of ours) {
    const folder = labels[LABELS.service]
    if (folder === undefined || (existsSync(folder) && !(await isDeadService(folder)))) continue
    await removeContainer(engine, id)
    removed += 1
  }
  return removed
}

/** Labels with a folder by which the next service removes the container if this one cannot. */
export const labelsOf = (service: string | null): Readonly<Record<string, string>> =>
  service === null ? {} : { [LABELS.service]: service, [LABELS.machine]: hostname() }
