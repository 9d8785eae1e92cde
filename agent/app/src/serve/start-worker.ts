/**
 * The runner of a service with its dependencies: MCP servers, tools, skills. `parts` stops them in reverse
 * order.
 */
import { randomUUID } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  sandboxedAgents,
  builtinTools,
  createQuota,
  type Harness,
  type McpLogins,
  mcpSandboxes,
  readSkills,
  homesIn,
  removeRetired,
  startBrowsers,
  type StartedBrowsers,
  startHarness,
  startMcpServers,
  sweepHomes,
  type Tool,
} from '@cairn/harness'
import type { SandboxChoice } from '@cairn/sandbox'
import type { LogStore, Redact } from '@cairn/log'
import { asError, type Config } from '@cairn/protocol'
import { expireChangedGates } from '@cairn/sessions'
import { folderOf, isBundled, moduleBeside } from '@cairn/tooling/beside'
import { makeSessionFolder } from '@cairn/workspace'
import { toolsNamedIn } from '../config/check-patterns.ts'
import { demoParts } from '../demo/demo-tools.ts'
import { createSessionScopes } from '../settings/session-scopes.ts'
import type { StartedSettings } from '../settings/start-settings.ts'
import type { ServiceOptions } from './service-options.ts'
import type { Logger } from './logging.ts'

type WorkerDeps = Pick<
  ServiceOptions,
  | 'config'
  | 'demo'
  | 'role'
  | 'env'
  | 'dataDir'
  | 'workspacesDir'
  | 'configDir'
  | 'linkedWorkspaces'
  | 'commandEnv'
> &
  Pick<Parameters<typeof startHarness>[0], 'store' | 'models'> & {
    log: Logger
    secrets: readonly string[]
    redact: Redact
    sandbox: SandboxChoice
    /** Accounts at MCP servers; null: no server has a login. */
    mcpLogins: McpLogins | null
    /** The settings that administrators change while the service runs. */
    started: StartedSettings
    /** URL of this process. */
    url: string
    /** URL of each scripted provider. */
    scriptedUrls: Readonly<Record<string, string>>
  }

type LogAt = Parameters<typeof startMcpServers>[0]['logger']
export type StartedWorker = { harness: Harness; browsers: StartedBrowsers | null }

/** Creates a session's folder and returns its real path, because it may be a symbolic link. */
const makeLinkedFolder: NonNullable<Parameters<typeof startHarness>[0]['makeFolder']> = async (root, id) =>
  realpath(await makeSessionFolder(root, id))

export async function startWorker(
  {
    config: given,
    demo,
    role,
    env,
    dataDir,
    workspacesDir,
    configDir,
    linkedWorkspaces,
    commandEnv,
    store,
    models,
    secrets,
    redact,
    log,
    sandbox,
    url,
    scriptedUrls,
    mcpLogins,
    started,
  }: WorkerDeps,
  parts: AsyncDisposableStack,
): Promise<StartedWorker> {
  const { config, tools: ofDemo } = demoParts({ config: given, demo, role, store, url })
  const logger: LogAt = (level, message, fields) => log[level](message, fields)
  const quota = createQuota(config.sandbox)
  const mcp = startMcp(config, { env, sandbox, dataDir, store, mcpLogins, quota, logger })
  parts.defer(() => mcp.stop())
  const tools = builtinTools({
    store,
    sandbox: sandbox.provider,
    proxy: sandbox.proxy,
    ...(commandEnv === undefined ? {} : { commandEnv }),
    quota,
  })
  const runnerId = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const browsers = await browsersOf(config, { env, sandbox, store, dataDir, runnerId, logger })
  parts.defer(() => browsers?.stop())
  const skillsDir = config.skills === undefined ? undefined : resolve(configDir, config.skills)
  if (skillsDir !== undefined) await announceSkills(skillsDir, log)
  const codingAgents = sandboxedAgents({ config, env, dataDir, sandbox, scriptedUrls, program: ownProgram() })
  parts.defer(() => codingAgents.close())
  await sweepHomes({ dataDir, runs: store.codeRuns, logger })
  const allTools = [...tools, ...ofDemo, ...(browsers?.tools ?? [])]
  const scopes = openScopes(
    { demo, role, env, dataDir, store, secrets, sandbox, url, scriptedUrls, started },
    { tools: allTools, demoTools: new Set(ofDemo.map(({ name }) => name)), mcp, quota, logger },
  )
  parts.defer(() => scopes.close())
  const harness = startHarness({
    scopeOf: scopes.scopeOf,
    codingAgents,
    store,
    models,
    secrets,
    redact,
    config,
    dataDir,
    workspacesDir,
    ...(skillsDir === undefined ? {} : { skillsDir }),
    ...(linkedWorkspaces === true ? { makeFolder: makeLinkedFolder } : {}),
    runnerId,
    newId: randomUUID,
    tools: allTools,
    mcp,
    logger,
  })
  parts.defer(() => harness.stop())
  parts.defer(
    removeRetired({
      store,
      places: [workspacesDir, join(dataDir, 'checkpoints'), homesIn(dataDir)],
      isHeld: harness.holds,
      graceMs: config.limits.archive_grace_s * 1000,
      logger,
    }),
  )
  return { harness, browsers }
}

type ScopeParts = Pick<Parameters<typeof createSessionScopes>[0], 'tools' | 'demoTools' | 'mcp'> & {
  quota: ReturnType<typeof createQuota>
  logger: LogAt
}

/** What sessions run with, by their organisation. */
const openScopes = (
  {
    demo,
    role,
    started,
    sandbox,
    dataDir,
    url,
    ...deps
  }: Pick<
    WorkerDeps,
    'demo' | 'role' | 'env' | 'dataDir' | 'store' | 'secrets' | 'sandbox' | 'url' | 'scriptedUrls' | 'started'
  >,
  { quota, logger, ...tools }: ScopeParts,
): ReturnType<typeof createSessionScopes> =>
  createSessionScopes({
    ...started,
    ...deps,
    ...tools,
    mcpParts: {
      boxes: mcpSandboxes({ sandbox, dataDir, path: deps.env['PATH'] }),
      onTools: found => expireChanged(deps.store, found, logger),
      quota,
      newId: randomUUID,
      logger,
    },
    demoConfig: config => demoParts({ config, demo, role, store: deps.store, url }).config,
  })

type McpParts = Pick<WorkerDeps, 'env' | 'sandbox' | 'dataDir' | 'store' | 'mcpLogins'> & {
  quota: ReturnType<typeof createQuota>
  logger: LogAt
}

const startMcp = (
  config: Config,
  { env, sandbox, dataDir, store, mcpLogins, quota, logger }: McpParts,
): ReturnType<typeof startMcpServers> =>
  startMcpServers({
    servers: config.mcp_servers,
    env,
    boxes: mcpSandboxes({ sandbox, dataDir, path: env['PATH'] }),
    named: toolsNamedIn(config),
    onTools: tools => expireChanged(store, tools, logger),
    quota,
    ...(mcpLogins === null ? {} : { logins: mcpLogins }),
    newId: randomUUID,
    logger,
  })

/** Expires approvals of tools whose definition has changed since they were requested. */
function expireChanged(store: LogStore, tools: readonly Tool[], logger: LogAt): void {
  const definitions = tools.flatMap(({ name, definition }) =>
    definition === undefined ? [] : [[name, definition.hash] as const],
  )
  expireChangedGates({ store }, new Map(definitions)).then(
    expired => {
      if (expired > 0)
        logger('warn', 'approvals expired: MCP servers changed the definitions of tools', { expired })
    },
    (error: unknown) =>
      logger('error', 'approvals of changed tools could not be expired; they will not be honoured', {
        why: asError(error).message,
      }),
  )
}

const browsersOf = (
  { browser, sandbox }: Config,
  parts: Omit<Parameters<typeof startBrowsers>[0], 'config' | 'quota'>,
): Promise<StartedBrowsers | null> =>
  startBrowsers({ ...parts, config: browser, quota: createQuota(sandbox) })

/**
 * What the built-in coding agent needs: the bundle, or the sources and their dependencies, and no neighboring
 * folders, where a data directory may be.
 */
export function ownProgram(): { folders: readonly string[]; argv: readonly string[] } {
  const folder = fileURLToPath(folderOf(import.meta))
  const root = join(folder, '../../../..')
  return {
    folders: isBundled(import.meta)
      ? [folder]
      : ['agent', 'tooling', 'node_modules'].map(name => join(root, name)),
    argv: [fileURLToPath(moduleBeside(import.meta, '../acp/start'))],
  }
}

/** A missing directory is a configuration error; an unreadable skill is left out and logged. */
async function announceSkills(dir: string, log: Logger): Promise<void> {
  try {
    const { skills, problems } = await readSkills(dir)
    for (const problem of problems) log.warn(problem)
    log.info(`skills: ${[...skills.keys()].join(', ') || 'none'}`)
  } catch (error) {
    throw new Error(
      `Cannot read the skills directory ${dir}: create it, or remove \`skills\` from the configuration.`,
      { cause: error },
    )
  }
}
