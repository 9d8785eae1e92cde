/**
 * The coding agents of a runner, each in its own sandbox without a network except the policy proxy, which
 * leads to the broker. The workspace and the run's home are writable. The home outlives a process, because
 * the agent keeps its session there, and is removed with the run.
 */
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '@cairn/protocol'
import { contextWindowOf, upstreamOf, createTransport, proxySettings } from '@cairn/models'
import {
  type Bind,
  type Sandbox,
  sandboxId,
  type SandboxChoice,
  FORWARDER_PORT,
  COMMAND_PATH,
  findProgram,
} from '@cairn/sandbox'
import type { AgentStart, CodingAgents, StartedAgent } from './agent-process.ts'
import { createBroker } from './broker.ts'
import { checkOut } from './checkout.ts'
import { GIT_PREFIX } from './git-broker.ts'
import { KNOWN_AGENTS, type KnownAgent, type Launch, type Model } from './known-agents.ts'
import { openRunRepo } from './run-repo.ts'
import { homeOf } from './sweep-homes.ts'
import { writeHome } from './write-home.ts'

export type SandboxedAgentsOptions = {
  config: Config
  env: Readonly<Record<string, string | undefined>>
  dataDir: string
  sandbox: Pick<SandboxChoice, 'provider' | 'proxy'>
  scriptedUrls: Readonly<Record<string, string>>
  /** This program, for the built-in agent: its folders and its command line. */
  program: { folders: readonly string[]; argv: readonly string[] }
}

/** Paths in the sandbox of the run's home and of an installed agent. */
const HOME = '/home/agent'
const INSTALLED = '/opt/agent'
const GIT_SETTINGS = '.gitconfig'
/**
 * An absolute path, because an agent's commands may have another HOME. No person is there to enter a
 * password.
 */
const GIT_ENV = { GIT_CONFIG_GLOBAL: `${HOME}/${GIT_SETTINGS}`, GIT_TERMINAL_PROMPT: '0' }

export const installedAt = (dataDir: string, name: string): string => join(dataDir, 'agents', name)

export function sandboxedAgents(options: SandboxedAgentsOptions): CodingAgents & { close(): Promise<void> } {
  const { config, env, dataDir, sandbox } = options
  const transport = createTransport(proxySettings(env))
  return {
    // Evaluated each time: an agent may have been installed since the last call.
    get names() {
      return namesHere(options)
    },
    reason: reasonOf(sandbox),
    repos: Object.keys(config.code.repos),
    modelOf: (agent, fallback) => config.code.agents[agent]?.model ?? fallback,
    start: asked => startSandboxed(options, transport.fetch, asked),
    forget: ({ session_id, run_id }) =>
      rm(homeOf(dataDir, session_id, run_id), { recursive: true, force: true }),
    close: () => transport.close(),
  }
}

/** What a runner started here could run; starts nothing. */
export function findCodingAgents(options: Pick<SandboxedAgentsOptions, 'config' | 'dataDir' | 'sandbox'>): {
  names: readonly string[]
  reason: string | null
  /** Whether git is where sandboxes look for it; runs in a repository need it. */
  hasGit: boolean
} {
  const reason = reasonOf(options.sandbox)
  return { names: namesHere(options), reason, hasGit: findProgram('git', COMMAND_PATH) !== null }
}

const namesHere = (options: Pick<SandboxedAgentsOptions, 'config' | 'dataDir' | 'sandbox'>): string[] =>
  reasonOf(options.sandbox) === null ? namesOf(options) : []

/**
 * Judged by what the sandbox provider supports: a process that only checks, such as `cairn doctor`, opens no
 * proxy.
 */
function reasonOf({ provider }: Pick<SandboxChoice, 'provider'>): string | null {
  if (provider === null) return 'this machine has no sandbox, and coding agents need one'
  if (provider.kind === 'unboxed') return 'coding agents need a sandbox, and `sandbox.terminal` is `unboxed`'
  return !provider.hasProxies
    ? 'sandboxes cannot reach the model broker (perl is missing, or the network is open)'
    : null
}

/** The default first. Known agents that are not installed are omitted. */
function namesOf({ config, dataDir }: Pick<SandboxedAgentsOptions, 'config' | 'dataDir'>): string[] {
  const { agents, default: first } = config.code
  const known = Object.entries(KNOWN_AGENTS).flatMap(([name, agent]) =>
    agent.package === null || existsSync(installedAt(dataDir, name)) ? [name] : [],
  )
  const own = Object.entries(agents).flatMap(([name, { command }]) => (command === undefined ? [] : [name]))
  const names = [...new Set([...known, ...own])]
  return names.includes(first) ? [first, ...names.filter(name => name !== first)] : names
}

async function startSandboxed(
  options: SandboxedAgentsOptions,
  fetch: ReturnType<typeof createTransport>['fetch'],
  asked: AgentStart,
): Promise<StartedAgent> {
  const { config, env, dataDir, sandbox, scriptedUrls } = options
  const { provider: box, proxy } = sandbox
  if (box === null || proxy === null) throw new Error(reasonOf(sandbox) ?? 'no sandbox is available')
  const slash = asked.model.indexOf('/')
  const provider = asked.model.slice(0, slash)
  const upstream = upstreamOf(config.models, env, scriptedUrls, provider)
  if (upstream === null)
    throw new Error(`unknown provider "${provider}" of model ${asked.model}: add it to models.providers`)
  const { max_cost_usd, max_tokens } = config.code
  const broker = createBroker({
    provider,
    upstream,
    model: asked.model,
    ratesOf: model => config.models.catalog[model],
    fetch,
    budget: { max_cost_usd, max_tokens },
  })
  const model: Model = {
    kind: upstream.kind,
    base_url: `http://127.0.0.1:${FORWARDER_PORT}${broker.path}`,
    token: broker.token,
    model: asked.model.slice(slash + 1),
    context_window: contextWindowOf(config.models.catalog[asked.model]),
    ask: asked.ask,
  }
  const repo = openRunRepo({ config, env, fetch }, asked)
  const { launch, binds } = launchOf(options, asked.agent, model)
  const home = homeOf(dataDir, asked.session_id, asked.run_id)
  await writeHome(home, {
    ...launch.files,
    ...(repo === null ? {} : { [GIT_SETTINGS]: repo.settings }),
  })
  const id = sandboxId(asked.session_id, 'code')
  const door = await proxy.open({
    id,
    egress: asked.egress,
    origin: (request, response) =>
      repo !== null && request.url?.startsWith(GIT_PREFIX) === true
        ? repo.broker.handle(request, response)
        : broker.handle(request, response),
  })
  const open = (env: Readonly<Record<string, string>>): Sandbox =>
    box.open({
      id,
      workspace: asked.workspace,
      binds: [...binds, { from: home, to: HOME, writable: true }],
      env: { PATH: pathOf(), HOME, LANG: 'C.UTF-8', TERM: 'dumb', ...GIT_ENV, ...env },
      network: { socket: door.socket },
      mayGrowFiles: true,
    })
  await using undo = new AsyncDisposableStack()
  undo.defer(() => door.close())
  undo.defer(() => broker.close())
  undo.defer(() => repo?.broker.close())
  if (repo !== null) await checkOut(open({}), repo.checkout, asked.signal)
  await asked.onReady()
  const opened = open(launch.env)
  undo.defer(() => opened.close())
  const running = opened.spawn(launch.argv, { stdin: 'pipe' })
  if (running.stdin === null) throw new Error('[code] the sandbox gave the agent no standard input')
  const parts = undo.move()
  return {
    stdin: running.stdin,
    stdout: running.stdout,
    stderr: running.stderr,
    exited: running.exited,
    terminate: () => opened.terminate(),
    close: () => parts.disposeAsync(),
    cwd: repo?.cwd ?? asked.workspace,
    used: broker.used,
  }
}

/** Includes the running Node, for agents that are Node scripts. */
const pathOf = (): string => `${dirname(process.execPath)}:${COMMAND_PATH}`

type Launched = { launch: Launch; binds: readonly Bind[] }

function launchOf(options: SandboxedAgentsOptions, name: string, model: Model): Launched {
  const { config, dataDir, program } = options
  const own = config.code.agents[name]
  const known: KnownAgent | undefined = KNOWN_AGENTS[name]
  const node = readOnly([process.execPath])
  if (own?.command !== undefined)
    return {
      launch: { argv: [own.command, ...own.args], env: { ...usual(model), ...own.env }, files: {} },
      binds: node,
    }
  if (known === undefined) throw new Error(`unknown coding agent ${name}`)
  if (!known.speaks.includes(model.kind))
    throw new Error(
      `${name} supports model servers of kind ${known.speaks.join(', ')}, not ${model.kind}: set ` +
        `code.agents.${name}.model`,
    )
  const { env, files } = known.settings(model)
  const launch = { env: { ...env, ...own?.env }, files }
  if (known.package === null)
    return {
      launch: { ...launch, argv: [process.execPath, ...program.argv, 'acp', '--box'] },
      binds: readOnly([...program.folders, process.execPath]),
    }
  const { bin, args } = known.package
  return {
    launch: { ...launch, argv: [`${INSTALLED}/node_modules/.bin/${bin}`, ...args, ...(own?.args ?? [])] },
    binds: [...node, { from: installedAt(dataDir, name), to: INSTALLED, writable: false }],
  }
}

/** Every sandbox already has the system's programs. */
const readOnly = (paths: readonly string[]): Bind[] =>
  paths.filter(path => !path.startsWith('/usr/')).map(path => ({ from: path, to: path, writable: false }))

/** Variables that most agents read; a custom agent may derive its own from them. */
const usual = ({ kind, base_url, token, model }: Model): Record<string, string> =>
  kind === 'anthropic'
    ? { ANTHROPIC_BASE_URL: base_url, ANTHROPIC_API_KEY: token, ANTHROPIC_MODEL: model }
    : { OPENAI_BASE_URL: base_url, OPENAI_API_KEY: token, OPENAI_MODEL: model }
