/**
 * What a session of an organisation runs with: the configuration at the time of its claim, the version of the
 * agent with which it began, and the models, MCP servers and skills of its administrators.
 */
import {
  type HarnessOptions,
  type McpServers,
  type SessionScope,
  type Skill,
  startMcpServers,
} from '@cairn/harness'
import { createStreamRedactor, type LogStore, type SessionRow } from '@cairn/log'
import { createModels, type LearnedFacts, type Models } from '@cairn/models'
import { sleep, systemClock } from '@cairn/models/clock'
import { AgentConfig, type Config } from '@cairn/protocol'
import { toolsNamedIn } from '../config/check-patterns.ts'
import { mcpServerConfig, withinPolicy } from '../config/merge-edits.ts'
import { mcpSecrets, type OrgConfig, type OrgConfigs, providerKeys } from './org-configs.ts'
import type { Reach } from './reach.ts'
import { createSharedParts } from './shared-parts.ts'

type McpParts = Pick<
  Parameters<typeof startMcpServers>[0],
  'boxes' | 'onTools' | 'quota' | 'newId' | 'logger'
>

export type ScopesOptions = {
  orgs: OrgConfigs
  store: Pick<LogStore, 'settings' | 'sessions'>
  reach: Reach
  env: Readonly<Record<string, string | undefined>>
  scriptedUrls: Readonly<Record<string, string>>
  learned: LearnedFacts
  /** Values besides keys that no stream may contain. */
  secrets: readonly string[]
  tools: HarnessOptions['tools']
  /** Tools that only the demo has. */
  demoTools: ReadonlySet<string>
  /** Servers of cairn.yaml. */
  mcp: McpServers
  mcpParts: McpParts
  /** Changes the configuration of a demo. */
  demoConfig: (config: Config) => Config
}
export type SessionScopes = {
  scopeOf(session: SessionRow): Promise<SessionScope>
  close(): Promise<void>
}

type Parts = { models: Models; servers: readonly McpServers[]; releases: readonly (() => void)[] }

export function createSessionScopes(options: ScopesOptions): SessionScopes {
  const { orgs, env, scriptedUrls, learned, secrets } = options
  const models = createSharedParts<Models>(part => part.close())
  const servers = createSharedParts<McpServers>(part => part.stop())
  /** Keys of the parts of each organisation's latest configuration. */
  const current = new Map<string, ReadonlySet<string>>()

  function holdParts(org: OrgConfig): Parts {
    const keys = providerKeys(org)
    const modelsKey = JSON.stringify([org.org_id, org.config.models, keys])
    const ofServers = editedServers(org, options)
    current.set(org.org_id, new Set([modelsKey, ...ofServers.map(({ key }) => key)]))
    const added = { keys, fetchOf: fetchOfEdited(org, options) }
    const held = models.hold(modelsKey, () =>
      createModels(org.config.models, env, scriptedUrls, learned, added),
    )
    const heldServers = ofServers.map(({ key, start }) => servers.hold(key, start))
    const isCurrent = (key: string): boolean => [...current.values()].some(each => each.has(key))
    models.keepOnly(isCurrent)
    servers.keepOnly(isCurrent)
    return {
      models: held.value,
      servers: heldServers.map(({ value }) => value),
      releases: [held, ...heldServers].map(({ release }) => release),
    }
  }

  return {
    async scopeOf(session) {
      const org = await orgs.of(session.org_id)
      if (org.seq === 0) return UNCHANGED
      const { config, agent_version } = await pinAgents(options, org, session)
      const releaseAll = ({ releases }: Parts) => {
        for (const release of releases) release()
      }
      const parts = holdParts(org)
      return {
        parts: {
          config: org.demo ? options.demoConfig(config) : config,
          models: parts.models,
          ...toolsOf(options, org, parts.servers),
          skills: skillsOf(org),
          streamRedactor: createStreamRedactor([
            ...secrets,
            ...parts.models.secrets,
            ...org.secrets.values(),
          ]),
        },
        agent_version,
        hold() {
          const held = holdParts(org)
          return () => releaseAll(held)
        },
        release: () => releaseAll(parts),
      }
    },
    async close() {
      await Promise.all([models.close(), servers.close()])
    },
  }
}

/** The organisation has changed nothing. */
const UNCHANGED: SessionScope = {
  parts: {},
  agent_version: undefined,
  hold: () => () => undefined,
  release: () => undefined,
}

/** The servers that only the editor defines; each with its own secrets as its environment. */
function editedServers(org: OrgConfig, { orgs, reach, mcpParts }: ScopesOptions) {
  return [...org.edits.mcp_server]
    .filter(([name]) => !Object.hasOwn(orgs.file.mcp_servers, name))
    .map(([name, { settings }]) => {
      const secrets = mcpSecrets(org, name)
      const start = (): McpServers =>
        startMcpServers({
          ...mcpParts,
          // Servers of two organisations may have the same name, and each has its own folder.
          boxes: (server, ...rest) => mcpParts.boxes(`${org.org_id}.${server}`, ...rest),
          servers: { [name]: mcpServerConfig(settings) },
          env: secrets,
          fetch: reach.fetch,
          named: toolsNamedIn(org.config),
        })
      return { key: JSON.stringify([org.org_id, name, settings, secrets]), start }
    })
}

/** Providers of the editor are reached by the guarded fetch, those of cairn.yaml by the usual one. */
export const fetchOfEdited =
  (org: Pick<OrgConfig, 'edits'>, { orgs, reach }: Pick<ScopesOptions, 'orgs' | 'reach'>) =>
  (provider: string) =>
    org.edits.provider.has(provider) && !Object.hasOwn(orgs.file.models.providers, provider)
      ? reach.fetch
      : undefined

function toolsOf(
  { tools, demoTools, mcp }: ScopesOptions,
  { demo }: OrgConfig,
  added: readonly McpServers[],
): Pick<SessionScope['parts'], 'tools' | 'findTool' | 'prepareTools'> {
  const own = demo ? tools : tools.filter(({ name }) => !demoTools.has(name))
  return {
    tools: owner => [...own, ...mcp.tools(owner), ...added.flatMap(each => each.tools(owner))],
    async findTool(name, signal, owner) {
      for (const each of [mcp, ...added]) {
        const found = await each.find(name, signal, owner)
        if (found !== null) return found
      }
      return null
    },
    async prepareTools(owner, signal) {
      await Promise.all([mcp.prepare(owner, signal), firstAttempts(added, signal)])
    },
  }
}

/** Time that a turn waits for servers that were added a moment ago. */
const FIRST_ATTEMPT_MS = 5000

/** Waits for the first attempt to connect to each server. Rejects with the signal's reason only. */
async function firstAttempts(added: readonly McpServers[], signal: AbortSignal): Promise<void> {
  if (added.length === 0) return
  const stop = new AbortController()
  const late = sleep(systemClock, FIRST_ATTEMPT_MS, AbortSignal.any([signal, stop.signal]))
  try {
    await Promise.race([Promise.all(added.map(({ ready }) => ready)), late])
  } finally {
    stop.abort()
    await late.catch(() => signal.throwIfAborted())
  }
}

export const skillsOf = ({ edits }: Pick<OrgConfig, 'edits'>): ReadonlyMap<string, Skill> =>
  new Map(
    [...edits.skill].map(
      ([
        name,
        {
          settings: { description, instructions },
        },
      ]) => [name, { name, description, body: instructions, directory: '', files: [] }],
    ),
  )

/** Parents of a session, nearest first; trees are at most this deep. */
const MAX_DEPTH = 16

/**
 * The configuration with the agents as they were when this session, and each of its ancestors, began. A
 * worker of the same agent begins with the version of its parent. cairn.yaml has no versions.
 */
async function pinAgents(
  options: ScopesOptions,
  org: OrgConfig,
  session: SessionRow,
): Promise<{ config: Config; agent_version: number | undefined }> {
  const { orgs, store } = options
  const isPinned = (agent: string): boolean => !Object.hasOwn(orgs.file.agents, agent)
  const pins = new Map<string, number>()
  let parent = session.parent_id
  for (let depth = 0; parent !== null && depth < MAX_DEPTH; depth++) {
    const pin = await store.settings.pinnedAgent(org.org_id, parent)
    if (pin !== null && isPinned(pin.agent) && !pins.has(pin.agent)) pins.set(pin.agent, pin.version)
    parent = (await store.sessions.get(parent))?.parent_id ?? null
  }
  const own = isPinned(session.agent) ? await pinOwn(options, org, session, pins) : undefined
  if (own !== undefined) pins.set(session.agent, own)
  const agents = { ...org.config.agents }
  for (const [name, version] of pins)
    if (org.edits.agent.get(name)?.version !== version) {
      const pinned = await agentAt(options, org, name, version)
      if (pinned !== null) agents[name] = pinned
    }
  return { config: { ...org.config, agents }, agent_version: own }
}

/** Recorded when the session is claimed for the first time. */
async function pinOwn(
  { store }: ScopesOptions,
  org: OrgConfig,
  { id, agent }: SessionRow,
  ofParents: ReadonlyMap<string, number>,
): Promise<number | undefined> {
  const pinned = await store.settings.pinnedAgent(org.org_id, id)
  if (pinned !== null) return pinned.version
  const version = ofParents.get(agent) ?? org.edits.agent.get(agent)?.version
  if (version !== undefined) await store.settings.pinAgent(org.org_id, id, agent, version)
  return version
}

/** Null: the version is a removal, or no longer fits the schema; then the latest one is used. */
async function agentAt(
  { store, orgs }: ScopesOptions,
  { org_id, config }: OrgConfig,
  name: string,
  version: number,
): Promise<AgentConfig | null> {
  const row = await store.settings.version({ org_id, kind: 'agent', name }, version)
  if (row === null || row.content === null) return null
  const parsed = AgentConfig.safeParse(JSON.parse(row.content))
  if (!parsed.success) return null
  const agent = withinPolicy(parsed.data, orgs.file)
  const model = agent.model ?? config.models.default
  return model === undefined ? agent : { ...agent, model }
}
