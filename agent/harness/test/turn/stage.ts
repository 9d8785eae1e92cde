/**
 * A session on the real store, a scripted model behind real HTTP, and as many harnesses as a test starts and
 * stops.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogStore, SessionRow } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import {
  Config,
  type ConfigInput,
  decodeEvent,
  type EventOf,
  type EventType,
  type Principal,
  type SessionEvent,
} from '@cairn/protocol'
import { addMessage, createSession, type Deps } from '@cairn/sessions'
import { z } from 'zod'
import type { Clock } from '@cairn/models/clock'
import type { CodingAgents } from '../../src/capabilities/code/agent-process.ts'
import { createWorkspaceCopies } from '../../src/tools/workspace-copies.ts'
import { type Harness, type HarnessOptions, startHarness } from '../../src/runner/runner.ts'
import { createModels } from '@cairn/models'
import {
  type ScenarioInput,
  type ScriptedServer,
  type ScriptedServerOptions,
  startScriptedServer,
} from '@cairn/scripted-model'
import { builtinTools } from '../../src/tools/catalogue.ts'
import type { Tool, ToolContext } from '../../src/tools/tool.ts'

export const alice: Principal = {
  kind: 'user',
  id: 'user-alice',
  org_id: 'org',
  admin: false,
  name: 'Alice',
  email: 'alice@example.org',
}

export type Stage = {
  store: LogStore
  deps: Deps
  server: ScriptedServer
  dir: string
  session_id: string
  /** What the tools of the test have seen, in order: `start:<value>` and `end:<value>`. */
  ran: string[]
  start(options?: { store?: LogStore; clock?: Clock; runnerId?: string }): Harness
  send(content: string, metadata?: Record<string, unknown>): Promise<number>
  session(): Promise<SessionRow>
  events(): Promise<SessionEvent[]>
  /** Waits until the log satisfies the condition, and returns it. */
  until(condition: (events: readonly SessionEvent[]) => boolean): Promise<SessionEvent[]>
  /** Waits for the nth event of a type. */
  next<T extends EventType>(type: T, nth?: number): Promise<EventOf<T>>
  [Symbol.asyncDispose](): Promise<void>
}

export type StageOptions = {
  scenario: ScenarioInput
  config?: ConfigInput
  agent?: NonNullable<ConfigInput['agents']>[string]
  tools?: readonly Tool[]
  mcp?: HarnessOptions['mcp']
  /** Of one worker, which sees the store as that does. */
  toolsOf?(store: LogStore): readonly Tool[]
  limits?: ConfigInput['limits']
  /** Closed with the stage; absent: one with the real time. */ store?: LogStore
  skillsDir?: string
  /** How much a worker's copy of the workspace may hold. */
  copyLimits?: { max_bytes: number; max_files: number }
  hold?: ScriptedServerOptions['hold']
  /** Whether the process of a worker has no time to spare. */
  isBusy?: () => boolean
  makeFolder?: HarnessOptions['makeFolder']
  /** Where what a scenario says depends on the id of the session. */
  session_id?: string
  /** What the session says for itself. */
  session?: Record<string, unknown>
  channel?: string
  codingAgents?: CodingAgents
}

let ids = 0
/** Readable ids, unique in this process. */
export const newId = (): string => `id-${++ids}`

export async function setStage({
  scenario,
  config = {},
  agent = {},
  tools = [],
  mcp,
  toolsOf = () => [],
  limits = {},
  store: given,
  skillsDir,
  copyLimits,
  hold,
  session_id = newId(),
  session: own = {},
  channel,
  codingAgents,
  isBusy = () => false,
  makeFolder,
}: StageOptions): Promise<Stage> {
  const dir = mkdtempSync(join(tmpdir(), 'cairn-harness-'))
  const store = given ?? (await openStoreInProcess({ dir: join(dir, 'log') }))
  const server = await startScriptedServer(scenario, hold === undefined ? {} : { hold })
  const settings = Config.parse({
    ...config,
    models: { default: 'demo/model', providers: { demo: { kind: 'scripted' } }, ...config.models },
    agents: { assistant: agent },
    limits: { delta_coalesce_ms: 1, llm_retries: 0, ...limits },
  })
  const deps: Deps = { store, now: Date.now, newId }
  const session = await createSession({ ...deps, newId: () => session_id }, ['assistant'], {
    principal: alice,
    title: 'Titled',
    config: own,
    ...(channel === undefined ? {} : { channel }),
  })
  const harnesses: Harness[] = []
  const ran: string[] = []
  const stage: Stage = {
    store,
    deps,
    server,
    dir,
    session_id: session.id,
    ran,
    start({ store: through = store, clock, runnerId = newId() } = {}) {
      const harness = startHarness({
        store: through,
        models: createModels(settings.models, {}, { demo: server.url }),
        tools: [
          ...builtinTools({ store, newId, sandbox: null }),
          ...recordingTools(ran),
          ...tools,
          ...toolsOf(through),
        ],
        config: settings,
        dataDir: dir,
        workspacesDir: join(dir, 'workspaces'),
        runnerId,
        newId,
        logger: () => {},
        random: () => 0,
        isBusy,
        ...(makeFolder === undefined ? {} : { makeFolder }),
        ...(clock ? { clock } : {}),
        ...(mcp === undefined ? {} : { mcp }),
        ...(codingAgents === undefined ? {} : { codingAgents }),
        ...(skillsDir === undefined ? {} : { skillsDir }),
        ...(copyLimits === undefined
          ? {}
          : {
              copies: createWorkspaceCopies(
                { dataDir: dir, workspacesDir: join(dir, 'workspaces') },
                copyLimits,
              ),
            }),
      })
      harnesses.push(harness)
      return harness
    },
    async send(content, metadata) {
      return (
        await addMessage(deps, {
          session_id: session.id,
          content,
          principal: alice,
          ...(metadata ? { metadata } : {}),
        })
      ).message_id
    },
    async session() {
      const row = await store.sessions.get(session.id)
      if (!row) throw new Error('the session is gone')
      return row
    },
    events: () => readLog(store, session.id),
    async until(condition) {
      const grown = Promise.withResolvers<SessionEvent[]>()
      const look = (): void => {
        readLog(store, session.id).then(events => {
          if (condition(events)) grown.resolve(events)
        }, grown.reject)
      }
      const unwatch = store.events.watch(session.id, look)
      look()
      try {
        return await grown.promise
      } finally {
        unwatch()
      }
    },
    async next(type, nth = 1) {
      const events = await stage.until(log => log.filter(event => event.type === type).length >= nth)
      return events.filter(event => event.type === type)[nth - 1] as EventOf<typeof type>
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(harnesses.map(harness => harness.stop()))
      await store.close()
      await server.close()
      rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
    },
  }
  return stage
}

export async function readLog(store: LogStore, sessionId: string): Promise<SessionEvent[]> {
  return (await store.events.read(sessionId, 0, 10_000)).map(({ json }) => decodeEvent(json))
}

export const typesOf = (events: readonly SessionEvent[]): string[] =>
  events.map(event => event.type).filter(type => type !== 'llm.delta')

/** `note` writes once and says so; `look` only looks; `hang` runs until it is told to stop. */
function recordingTools(ran: string[]): Tool[] {
  const parameters = z.strictObject({ value: z.string() })
  const tool = (
    name: string,
    kind: Pick<Tool, 'readOnly' | 'idempotent'>,
    body: (value: string, context: ToolContext) => Promise<string>,
  ): Tool => ({
    name,
    description: name,
    parameters,
    ...kind,
    async run(args, context) {
      const value = String(args['value'])
      ran.push(`${name}:${value}`)
      return { content: await body(value, context) }
    },
  })
  return [
    tool('note', { readOnly: false, idempotent: false }, value => Promise.resolve(`noted ${value}`)),
    tool('look', { readOnly: true, idempotent: true }, value => Promise.resolve(`saw ${value}`)),
    tool(
      'hang',
      { readOnly: false, idempotent: false },
      (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
        }),
    ),
  ]
}

/** Answers that call a tool of the test, and the plain ones. */
export const call = (name: string, value: string) => ({ tool_calls: [{ name, arguments: { value } }] })
export const say = (text: string) => ({ text })
