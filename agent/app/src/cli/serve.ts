/** cairn serve: runs the service until it is stopped. */
import { startService } from '../main.ts'
import type { Service } from '../serve/service-options.ts'
import { createLogger, readLevel } from '../serve/logging.ts'
import { notifySupervisor } from '../serve/notify-supervisor.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { readServiceOptions } from './read-service-options.ts'

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
    const { demo, dataDir, workspacesDir, database, role } = options
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
    log.info('configuration', {
      file: file ?? 'none, all defaults',
      data: dataDir,
      workspaces: workspacesDir,
      ...(database !== null && { database: database.address.shown, role }),
      demo,
      shown_by: 'cairn config',
    })
    announce(service, demo, values.json, io)
    await notifySupervisor(io.env, 'ready', log)
    return stopOn(service, await signalled, io)
  },
})

const DEMO_ANSWERS =
  'No model is configured, so the scripted demo model answers. Configure one in cairn.yaml.'

function announce({ url, loginUrl, sandbox, log }: Service, demo: boolean, json: boolean, io: Io): void {
  log.info('listening', { url })
  if (json)
    return io.out(`${JSON.stringify({ url, login_url: loginUrl, demo, sandbox, pid: process.pid })}\n`)
  // The log has a line about the sandbox.
  const about = [`Cairn is running at ${url}`, ...(demo ? [DEMO_ANSWERS] : [])]
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

async function stopOn(service: Service, signal: NodeJS.Signals, { env }: Pick<Io, 'env'>): Promise<ExitCode> {
  const { log } = service
  for (const name of STOP_SIGNALS) {
    process.on(name, () => {
      log.warn('second signal, exiting at once')
      process.exit(EXIT.interrupted.code)
    })
  }
  log.info('draining', { signal })
  await Promise.all([notifySupervisor(env, 'stopping', log), service.stop()])
  log.info('stopped')
  setTimeout(() => {
    log.warn('resources still open, exiting', { open: process.getActiveResourcesInfo() })
    process.exit(EXIT.ok.code)
  }, LINGER_MS).unref()
  return EXIT.ok.code
}
