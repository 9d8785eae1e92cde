/** The settings of a service, from the environment and the configuration file. */
import { ConfigError } from '../config/config-error.ts'
import { configDirOf, readConfig } from '../config/read-config.ts'
import { UsageError } from '../exit.ts'
import { DEFAULT_HOST, DEFAULT_PORT, dataDirOf } from '../local/data-dir.ts'
import { type Database, databaseOf } from '../local/open-store.ts'
import { workspacesDirOf } from '../local/workspaces-dir.ts'
import { type Role, ROLES, type ServiceOptions } from '../serve/service-options.ts'
import type { Io } from './command.ts'

/** Options of the service from the environment and the configuration file; `file` is that file. */
export function readServiceOptions(
  env: Io['env'],
  roleName = 'all',
): Omit<ServiceOptions, 'createLog'> & { file: string | null } {
  const database = databaseOf(env)
  const role = readRole(roleName, database)
  const { config, demo, file, given, source } = readConfig(env)
  const configDir = configDirOf(file)
  return {
    config,
    given,
    source,
    demo,
    file,
    env,
    dataDir: dataDirOf(env),
    workspacesDir: workspacesDirOf(env, config.workspaces, configDir),
    database,
    role,
    configDir,
    host: env['HOST'] || DEFAULT_HOST,
    port: readPort(env['PORT']),
  }
}

/** The embedded store supports one process, which must do everything. */
function readRole(text: string, database: Database | null): Role {
  const role = ROLES.find(known => known === text)
  if (role === undefined) throw new UsageError(`Invalid --role "${text}": must be one of ${ROLES.join(', ')}`)
  if (role !== 'all' && database === null)
    throw new UsageError(
      `--role ${role} needs DATABASE_URL: with the embedded store one process has all roles`,
    )
  return role
}

function readPort(text: string | undefined): number {
  if (!text) return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= 65_535))
    throw new ConfigError('PORT', [
      `expected a port number from 1 to 65535, or 0 for any free port, got "${text}"`,
    ])
  return port
}
