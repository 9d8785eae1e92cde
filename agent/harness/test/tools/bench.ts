/** Calls of tools on the real store, under a real lease: what the tests of callTool stand on. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type EventWithRows, type Fence, type LogStore, createRedactor } from '@cairn/log'
import { openStoreInProcess } from '@cairn/log/test/store-in-process'
import { GovernanceConfig, type Principal, type SessionEvent, decodeEvent } from '@cairn/protocol'
import { addMessage, createSession, findOpenGate, respondInbox } from '@cairn/sessions'
import { z } from 'zod'
import { systemClock } from '@cairn/models/clock'
import { openGates } from '../../src/governance/open-gates.ts'
import { NO_STEPS } from '../../src/tools/call-steps.ts'
import type { CallToolDeps } from '../../src/tools/call.ts'
import { tagContainer } from '@cairn/sandbox/internal/process-tags'
import { builtinTools } from '../../src/tools/catalogue.ts'
import { unsandboxed } from '@cairn/sandbox/test/providers'
import type { OpenCall } from '../../src/tools/run-calls.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../src/tools/tool.ts'
import { makeFolder } from './tool-context.ts'

export const alice: Principal = {
  kind: 'user',
  id: 'user-alice',
  org_id: 'org',
  admin: false,
  name: 'Alice',
  email: 'alice@example.org',
}

let ids = 0
export const newId = (): string => `id-${++ids}`

/** A call that was not run yet. */
export const call = (
  name: string,
  args: Record<string, unknown> | string = {},
  state: OpenCall['state'] = 'asked',
): OpenCall => ({
  tool_call_id: newId(),
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
  state,
})

/** A tool made for one test. */
export const makeTool = (
  name: string,
  run: (args: Record<string, unknown>, context: ToolContext) => Promise<ToolOutcome> | ToolOutcome,
  change: Partial<Tool> = {},
): Tool => ({
  name,
  description: name,
  parameters: z.record(z.string(), z.unknown()),
  readOnly: false,
  idempotent: false,
  run: async (args, context) => run(args, context),
  ...change,
})

export type Bench = {
  store: LogStore
  session_id: string
  workspace: string
  /** One entry a commit: the types it wrote. */
  commits: string[][]
  deps(change?: Partial<CallToolDeps>, tools?: readonly Tool[]): CallToolDeps
  /** The session's events after an id (the first 1,000), the message that began it left out. */
  events(after?: number): Promise<SessionEvent[]>
  /** The content of the result of a call, parsed; null when it has none. */
  resultOf(call: {
    tool_call_id: string
  }): Promise<{ elapsed_ms: number; content: Record<string, unknown> } | null>
  respond(decision: 'approve' | 'reject'): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export const policyOf = (policy: z.input<typeof GovernanceConfig>): GovernanceConfig =>
  GovernanceConfig.parse(policy)

export async function makeBench(): Promise<Bench> {
  const dir = makeFolder('bench')
  const store = await openStoreInProcess({ dir: join(dir, 'log') })
  const commands = { store, now: Date.now, newId }
  const { id: session_id } = await createSession(commands, ['assistant'], { principal: alice })
  await addMessage(commands, { session_id, content: 'go', principal: alice })
  const [claim] = await store.leases.claim('worker', 1, 600_000)
  if (claim === undefined) throw new Error('the session could not be claimed')
  const workspace = makeFolder('ws')
  const commits: string[][] = []
  const commit = (fence: Fence) => async (events: readonly EventWithRows[]) => {
    await store.commit({ session_id, events, fence })
    commits.push(events.map(event => event.type))
  }
  const bench: Bench = {
    store,
    session_id,
    workspace,
    commits,
    deps: (change = {}, tools = []) => ({
      session_id,
      turn_id: 'turn',
      iteration_index: 0,
      workspace,
      checkpoints: join(dir, 'checkpoints'),
      policy: policyOf({}),
      agentTools: undefined,
      logAllowed: false,
      saga: NO_STEPS,
      timeoutMs: 20_000,
      absences: new Map(),
      tools: new Map(
        [
          ...builtinTools({
            store,
            newId,
            sandbox: unsandboxed(tagContainer),
          }),
          ...tools,
        ].map(tool => [tool.name, tool]),
      ),
      signal: new AbortController().signal,
      clock: systemClock,
      newId,
      commit: commit(claim.fence),
      findGrant: (tool, hash) => store.grants.find(session_id, tool, hash),
      redact: createRedactor(),
      gates: openGates((tool, hash) => findOpenGate(store, { id: session_id, org_id: 'org' }, tool, hash)),
      ...change,
    }),
    async events(after = 0) {
      return (await store.events.read(session_id, after, 1000))
        .map(event => decodeEvent(event.json))
        .filter(event => event.type !== 'user.message' || event.data.synthetic !== undefined)
    },
    async resultOf({ tool_call_id }) {
      const result = (await bench.events()).find(
        event => event.type === 'tool.result' && event.data.tool_call_id === tool_call_id,
      )
      return result?.type === 'tool.result'
        ? {
            elapsed_ms: result.data.elapsed_ms,
            content: JSON.parse(result.data.content) as Record<string, unknown>,
          }
        : null
    },
    async respond(decision) {
      const { items } = await store.inbox.list({ org_id: 'org', session_id, status: ['pending'], limit: 10 })
      await respondInbox(commands, items.at(-1)?.id ?? '', { decision }, alice)
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
  return bench
}

export const typesOf = (events: readonly SessionEvent[]): string[] => events.map(event => event.type)
