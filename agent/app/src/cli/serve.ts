/** cairn serve: runs the service until it is stopped. */
import { ConfigError } from '../config/config-error.ts'
import { configDirOf, readConfig } from '../config/read-config.ts'
import { maskConfig, showConfig } from '../config/show-config.ts'
import { DEFAULT_HOST, DEFAULT_PORT, dataDirOf } from '../local/data-dir.ts'
import { type Database, databaseOf } from '../local/open-store.ts'
import { workspacesDirOf } from '../local/workspaces-dir.ts'
import { startService } from '../main.ts'
import { type Role, ROLES, type Service, type ServiceOptions } from '../serve/service-options.ts'
import { createLogger, readLevel } from '../serve/logging.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { EXIT, type ExitCode, UsageError } from '../exit.ts'

/**
 * If something keeps the process alive after the shutdown, it is logged and the process exits after this
 * time.
 */
const LINGER_MS = 2_000

export const serve = defineCommand({
  name: 'serve',
  summary: 'Start the service and print a login link',
  usage: [
    [
      'serve',
      'listen on HOST:PORT with the store in CAIRN_DATA or DATABASE_URL. SIGTERM drains running turns; ' +
        'a second signal exits at once',
    ],
    [
      '  --role all|api|worker',
      'for several processes on one DATABASE_URL: serve requests (api), run turns (worker) or both (all)',
    ],
  ],
  options: { role: { type: 'string', default: 'all' } },
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const level = readLevel(io.env['LOG_LEVEL'])
    const { file, ...options } = readServiceOptions(io.env, values.role)
    // Install the handlers before printing the address, because its reader may send a signal at once.
    const signalled = firstSignal()
    const { config, demo, dataDir, workspacesDir, database, role } = options
    const pretty = process.stderr.isTTY
    const service = await startService({
      ...options,
      createLog: redact =>
        createLogger({
          level,
          pretty,
          redact,
          now: Date.now,
          write: line => void process.stderr.write(line),
        }),
    })
    const { log } = service
    failLoudly(log)
    if (pretty)
      io.note(
        `Configuration (${file ?? 'no cairn.yaml, all defaults'}; data in ${dataDir}, workspaces in ` +
          `${workspacesDir}${database === null ? '' : `, store in ${database.address.shown}`}):\n\n` +
          `${showConfig(config).replaceAll(/^/gm, '  ').trimEnd()}\n`,
      )
    else
      log.info('configuration', {
        file,
        data: dataDir,
        workspaces: workspacesDir,
        ...(database !== null && { database: database.address.shown, role }),
        demo,
        config: maskConfig(config),
      })
    announce(service, demo, values.json, io)
    return stopOn(service, await signalled)
  },
})

/** Options of the service from the environment and the configuration file; `file` is that file. */
export function readServiceOptions(
  env: Io['env'],
  roleName = 'all',
): Omit<ServiceOptions, 'createLog'> & { file: string | null } {
  const database = databaseOf(env)
  const role = readRole(roleName, database)
  const { config, demo, file } = readConfig(env)
  const configDir = configDirOf(file)
  return {
    config,
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

const DEMO_ANSWERS =
  'No model is configured, so the scripted demo model answers. Configure one in cairn.yaml.'

function announce({ url, loginUrl, sandbox, log }: Service, demo: boolean, json: boolean, io: Io): void {
  log.info('listening', { url })
  if (json)
    return io.out(`${JSON.stringify({ url, login_url: loginUrl, demo, sandbox, pid: process.pid })}\n`)
  const about = [
    `Cairn is running at ${url}`,
    ...(demo ? [DEMO_ANSWERS] : []),
    ...(sandbox === null ? [] : [sandbox.summary]),
  ]
  io.out(`\n${about.map(line => `  ${line}\n`).join('')}\n  Log in (one-time link): ${loginUrl}\n`)
}

/**
 * A bug must not leave a half-working server: it is logged, and the process exits so that its supervisor
 * restarts it.
 */
function failLoudly(log: Service['log']): void {
  process.on('uncaughtException', (error, origin) => {
    log.error('uncaught error, exiting', { origin, error })
    process.exit(EXIT.failure.code)
  })
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

const firstSignal = (): Promise<NodeJS.Signals> =>
  new Promise(resolve => {
    for (const name of STOP_SIGNALS) process.once(name, () => resolve(name))
  })

async function stopOn(service: Service, signal: NodeJS.Signals): Promise<ExitCode> {
  const { log } = service
  for (const name of STOP_SIGNALS) {
    process.on(name, () => {
      log.warn('second signal, exiting at once')
      process.exit(EXIT.interrupted.code)
    })
  }
  log.info('draining', { signal })
  await service.stop()
  log.info('stopped')
  setTimeout(() => {
    log.warn('resources still open, exiting', { open: process.getActiveResourcesInfo() })
    process.exit(EXIT.ok.code)
  }, LINGER_MS).unref()
  return EXIT.ok.code
}
