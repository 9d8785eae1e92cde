/**
 * The service inside this process, for a client on this machine: the client's folder is the workspace. The
 * client chooses its location, so the folder of a session is a symbolic link to it.
 */
import { mkdir, symlink } from 'node:fs/promises'
import { readlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@cairn/client'
import { DirectoryInUse } from '@cairn/log'
import { configDirOf, readConfig } from '../config/read-config.ts'
import type { EffectiveConfig } from '../config/effective-config.ts'
import { localToken } from '../local/local-admin.ts'
import { defaultWorkspacesDir } from '../local/workspaces-dir.ts'
import { startService } from '../main.ts'
import type { Service } from '../serve/service-options.ts'
import { createLogger, readLevel } from '../serve/logging.ts'
import type { AgentEnvironment } from './agent.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Maximum parallel processes. Editors start one per window, and each needs its own data directory. */
const MAX_PROCESSES = 8

export type LocalPlace = AgentEnvironment & { stop: () => Promise<void> }

export type LocalOptions = {
  env: Environment
  /** Replaces cairn.yaml. */
  config?: EffectiveConfig
  /** Extra environment of the commands that it runs. */
  commandEnv?: Readonly<Record<string, string>>
}

export async function openLocalPlace({ env, config, commandEnv }: LocalOptions): Promise<LocalPlace> {
  const { file, ...read } = config === undefined ? readConfig(env) : { ...config, file: null }
  const base = env['CAIRN_DATA'] || join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'cairn/acp')
  const { service, dataDir } = await startOnFree(base, dataDir => ({
    ...read,
    env,
    dataDir,
    workspacesDir: defaultWorkspacesDir(dataDir),
    linkedWorkspaces: true,
    ...(commandEnv === undefined ? {} : { commandEnv }),
    database: null,
    role: 'all',
    configDir: configDirOf(file),
    host: '127.0.0.1',
    port: 0,
    createLog: redact =>
      createLogger({
        level: readLevel(env['LOG_LEVEL'] ?? 'warn'),
        pretty: false,
        redact,
        now: Date.now,
        // stdout belongs to the protocol.
        write: line => void process.stderr.write(line),
      }),
  }))
  const workspaces = defaultWorkspacesDir(dataDir)
  const client = createClient({ baseUrl: service.url, token: () => localToken(dataDir) })
  return {
    service: client,
    async create(cwd) {
      const { id } = await client.call('createSession', {
        body: { channel: 'acp' },
        idempotencyKey: crypto.randomUUID(),
      })
      await mkdir(workspaces, { recursive: true, mode: 0o700 })
      await symlink(cwd, join(workspaces, id))
      return { id, notice: read.demo ? DEMO : null }
    },
    cwdOf: id => linkOf(join(workspaces, id)),
    stop: () => service.stop(),
  }
}

const DEMO =
  'No model is configured: the scripted demo model answers. Name one in a cairn.yaml and point ' +
  'CAIRN_CONFIG at it.\n\n'

async function startOnFree(
  base: string,
  options: (dataDir: string) => Parameters<typeof startService>[0],
): Promise<{ service: Service; dataDir: string }> {
  for (let number = 1; ; number++) {
    const dataDir = number === 1 ? base : `${base}-${String(number)}`
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    try {
      return { service: await startService(options(dataDir)), dataDir }
    } catch (error) {
      if (!(error instanceof DirectoryInUse) || number === MAX_PROCESSES) throw error
    }
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    // Not a link but a folder of the service, or a session of another data directory.
    return null
  }
}
