/**
 * The only file that wires the service: it creates every part with its dependencies and stops the parts in
 * reverse order.
 */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  createApi,
  createLoginLink,
  createRegistry,
  type HarnessStats,
  loginLinkPath,
  mcpPages,
  type Mount,
  meterStore,
  signingSecrets,
} from '@cairn/api'
import { chooseSandbox, type SandboxChoice, TemporaryFolderError } from '@cairn/sandbox'
import { createLearnedFacts, createModels, type LearnedFacts, modelSecrets } from '@cairn/models'
import { createMcpLogins, type McpLogins, rereadSkills } from '@cairn/harness'
import { startScriptedProviders } from '@cairn/scripted-model'
import { secretsOf } from '@cairn/channels'
import { compatMounts } from '@cairn/compat'
import { createRedactor, type LogStore, type Redact } from '@cairn/log'
import { assetBeside } from '@cairn/tooling/beside'
import { VERSION } from '@cairn/tooling/version'
import { ConfigError } from './config/config-error.ts'
import { authVariables, type EffectiveConfig } from './config/effective-config.ts'
import { readDemoScenario } from './demo/demo-scenario.ts'
import { announceServer, learnedFactsFile, reachableUrl } from './local/data-dir.ts'
import { ensureFirstAdmin } from './local/local-admin.ts'
import { openStore, secretsOfDatabase } from './local/open-store.ts'
import { explainListen } from './serve/explain-listen.ts'
import type { Logger } from './serve/logging.ts'
import { beginChannels } from './serve/begin-channels.ts'
import { startNotifying } from './serve/start-notifications.ts'
import { startOtel } from './otel/start-otel.ts'
import { type ConnectionPolicy, connectionPolicy } from './serve/connection-policy.ts'
import { skillsDirOf, startSettings } from './settings/start-settings.ts'
import type { Service, ServiceOptions } from './serve/service-options.ts'
import { type StartedWorker, startWorker } from './serve/start-worker.ts'

/** Timeout for responses in progress once the turns are over. */
const CLOSE_MS = 5_000

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, demo, env, dataDir, workspacesDir, database, role } = options
  await using parts = new AsyncDisposableStack()

  const scripted = await startScriptedProviders(config.models, readDemoScenario(), options.configDir)
  parts.defer(() => scripted.close())
  const { secrets, redact, learnSecrets, log, report, learned } = openRecords(options)
  const models = createModels(config.models, env, scripted.urls, learned)
  parts.defer(() => models.close())
  const opened = await openStore(database, dataDir, { redact, report, workspacesDir })
  parts.defer(() => opened.close())
  const metrics = createRegistry()
  const store = meterStore(opened, metrics)
  const admin = await ensureFirstAdmin(store, dataDir)

  // Before listening: what is unsafe on this machine is disabled, and requests for it get the reason.
  const sandbox = role === 'api' ? null : await findSandbox(options, log)
  parts.defer(() => sandbox?.close())

  const policy = connectionPolicy(env, dataDir)
  let url = ''
  const known = { ...policy, store, learnSecrets, log, scripted, sandbox, admin, learned }
  const started = await startSettings(options, known, parts)
  const mcpLogins = openMcpLogins(options, { ...policy, store, learnSecrets, url: () => url })
  const channels = await beginChannels({ ...options, ...known, ...started }, report, parts)
  // The API listens before the runner starts: an address in use fails the start before any turn runs.
  let worker: StartedWorker | null = null
  const api = await createApi({
    store,
    config,
    dataDir,
    workspacesDir,
    now: Date.now,
    newId: randomUUID,
    log,
    version: VERSION,
    demo,
    ...(sandbox === null ? {} : { sandbox: sandbox.standing }),
    skills: () => listSkills(options, log),
    settings: started.settings,
    metrics,
    ...mountAll(mcpLogins, store, config, channels),
    connections: policy,
    notices: startNotifying({ ...options, sealing: policy.sealing, redact }, store, admin, report, parts),
    ...(role === 'worker' ? { probesOnly: true } : webRoot(log)),
    browsers: () => worker?.browsers?.live ?? null,
    harnessStats: () => statsOf(worker, sandbox),
  })
  parts.defer(() => api.close())
  // The data directory has its key by now, created here or by another process on the database.
  learnSecrets(await signingSecrets(dataDir))
  url = reachableUrl(await listen(api, options))
  if (role !== 'worker') parts.defer(announceServer(dataDir, aboutServer(options, url)))

  const given = { ...options, store, models, secrets, redact, log, url, mcpLogins }
  worker =
    sandbox === null
      ? null
      : await startWorker({ ...given, sandbox, scriptedUrls: scripted.urls, started }, parts)

  parts.defer(store.search.follow())
  startOtel(options, opened, admin.org_id, report, parts)
  const loginUrl =
    (config.public_url ?? url) + loginLinkPath(await createLoginLink(store, admin.id, Date.now()))
  const running = parts.move()
  return {
    url,
    loginUrl,
    sandbox: sandbox?.standing ?? null,
    log,
    async stop() {
      api.announceDrain()
      // Keep streams open until the turns are over, so that readers see how each one ended.
      await worker?.harness.stop()
      await Promise.race([api.drain(), new Promise(resolve => setTimeout(resolve, CLOSE_MS).unref())])
      await running.disposeAsync()
    },
  }
}

const listen = (api: Awaited<ReturnType<typeof createApi>>, options: ServiceOptions) =>
  api.listen(options.port, options.host).catch((error: NodeJS.ErrnoException) => {
    throw explainListen(error, options)
  })

/** How programs on this machine find the server. */
const aboutServer = ({ config: { public_url }, env }: ServiceOptions, url: string) => ({
  url,
  pid: process.pid,
  path: env['PATH'] ?? null,
  ...(public_url === undefined ? {} : { public_url }),
})

/** The log, what it redacts, and what is known about model servers. */
function openRecords(options: ServiceOptions) {
  const { config, env, dataDir, database } = options
  const secrets = [...secretsOfConfig(config, env), ...secretsOfDatabase(database)]
  const redacting = redactAsKnown(secrets)
  const log = options.createLog(redacting.redact)
  const report = reportTo(log)
  return { secrets, ...redacting, log, report, learned: readLearnedFacts(dataDir, report) }
}

/** The mounts of the channels, of the compatible APIs, and of the accounts at MCP servers. */
function mountAll(
  accounts: McpLogins | null,
  store: LogStore,
  config: EffectiveConfig['config'],
  channels: readonly Mount[],
): Pick<Parameters<typeof createApi>[0], 'mcp' | 'mounts'> {
  const sessions = { store, now: Date.now, newId: randomUUID }
  const mounts = [...channels, ...compatMounts({ ...sessions, config, version: VERSION })]
  return accounts === null
    ? { mounts }
    : { mcp: accounts, mounts: [...mounts, mcpPages({ accounts, sessions })] }
}

/** Null: no MCP server has a login. */
function openMcpLogins(
  { config: { mcp_servers: servers, public_url }, env }: ServiceOptions,
  {
    sealing,
    store,
    learnSecrets,
    url,
  }: Pick<ConnectionPolicy, 'sealing'> & {
    store: LogStore
    learnSecrets: (secrets: readonly string[]) => void
    url: () => string
  },
): McpLogins | null {
  if (!Object.values(servers).some(server => 'url' in server && server.auth !== undefined)) return null
  return createMcpLogins({
    servers,
    env,
    store: store.mcpAccounts,
    sealing,
    publicUrl: () => public_url ?? url(),
    learnSecrets,
  })
}

/** What this service or another on the data directory has learned about model servers. */
const readLearnedFacts = (dataDir: string, report: ReturnType<typeof reportTo>): LearnedFacts =>
  createLearnedFacts({ file: learnedFactsFile(dataDir), report })

/** Redacts the secrets known so far: others are added to the same list while the service runs. */
function redactAsKnown(secrets: string[]): {
  redact: Redact
  learnSecrets: (more: readonly string[]) => void
} {
  let redactKnown = createRedactor(secrets)
  return {
    redact: (json, mode) => redactKnown(json, mode),
    learnSecrets(more) {
      secrets.push(...more.filter(each => !secrets.includes(each)))
      redactKnown = createRedactor(secrets)
    },
  }
}

/** Reads the skills each time, because they may change. An invalid one is left out; the runner logs it. */
async function listSkills(
  options: ServiceOptions,
  log: Logger,
): Promise<{ name: string; description: string }[]> {
  const { skills } = await rereadSkills(skillsDirOf(options), (level, message, fields) =>
    log[level](message, fields),
  )
  return [...skills].map(([name, { description }]) => ({ name, description }))
}

const reportTo =
  (log: Logger) =>
  (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>): void =>
    log[level](message, fields)

function statsOf(worker: StartedWorker | null, sandbox: SandboxChoice | null): HarnessStats {
  const { connections, refused } = sandbox?.proxy?.counts() ?? { connections: 0, refused: 0 }
  return {
    active_turns: worker?.harness.active() ?? 0,
    code_runs: worker?.harness.codeRuns() ?? 0,
    browsers: worker?.browsers?.count() ?? 0,
    proxy_connections: connections,
    proxy_refusals: refused,
  }
}

/** A sandbox exposes neither other sessions' files nor the keys, wherever the two directories are. */
async function findSandbox(
  { config, env, dataDir, workspacesDir }: ServiceOptions,
  log: Logger,
): Promise<SandboxChoice> {
  const hidden = [dataDir, workspacesDir]
  const sandbox = await chooseSandbox({ config: config.sandbox, path: env['PATH'], hidden }).catch(
    (error: unknown) => {
      if (!(error instanceof TemporaryFolderError)) throw error
      throw new ConfigError('TMPDIR', [error.message], { cause: error })
    },
  )
  const { terminal, network, summary } = sandbox.standing
  log[terminal === 'boxed' && network !== 'open' ? 'info' : 'warn'](summary, { terminal, network })
  return sandbox
}

/**
 * Secrets of model and MCP servers, channels, browsers, repositories and notifications that must not reach
 * events or log lines.
 */
function secretsOfConfig(
  { models, mcp_servers, channels, browser, notices, code }: EffectiveConfig['config'],
  env: ServiceOptions['env'],
): string[] {
  const names = Object.values(mcp_servers).flatMap(server =>
    'url' in server
      ? [...Object.values(server.headers_env), ...authVariables(server).map(({ variable }) => variable)]
      : server.env.filter(name => /key|token|secret|password|credential/i.test(name)),
  )
  names.push(...Object.values(browser.secrets).map(({ value_env }) => value_env))
  names.push(...Object.values(code.repos).flatMap(({ token_env }) => token_env ?? []))
  if (browser.cdp !== null) names.push(browser.cdp.url_env)
  if (notices.mail?.smtp.password_env !== undefined) names.push(notices.mail.smtp.password_env)
  return [
    ...modelSecrets(models, env),
    ...names.flatMap(name => env[name] ?? []),
    ...secretsOf(channels, env),
  ]
}

/** The built UI; without it the service still runs, for programs. */
function webRoot(log: Logger): { webRoot?: string } {
  const root = fileURLToPath(assetBeside(import.meta, '../../web/dist/', 'web/'))
  if (existsSync(join(root, 'index.html'))) return { webRoot: root }
  log.warn('the web UI is not built: run npm run build:web')
  return {}
}
