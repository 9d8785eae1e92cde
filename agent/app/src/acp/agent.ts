/**
 * Cairn as an agent of the Agent Client Protocol: the client's sessions are sessions of the service, a prompt
 * is a message, and the events of the turn are sent as updates as they are written.
 */
import {
  type AgentApp,
  type AgentContext,
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk'
import { ApiError, type CairnClient } from '@cairn/client'
import { SLASH_COMMANDS } from '@cairn/state'
import { type Followed, runPrompt } from './prompt.ts'
import { messageOf } from './prompt-text.ts'
import { type Prompt, takePrompt } from './prompts.ts'
import { createUpdates } from './updates.ts'

/** The service behind the agent, as this process reaches it. */
export type AgentEnvironment = {
  service: CairnClient
  /** Creates a session that works in that folder; `notice`: what the user should know about it. */
  create(cwd: string): Promise<{ id: string; notice: string | null }>
  /** The folder of a session on this machine; null: it is elsewhere or unknown. */
  cwdOf(id: string): string | null
}

/** `running`: the newest prompt that has not ended. */
type Open = Followed & { running: Prompt | null }

export type AgentOptions = {
  version: string
  /** Called for the first session, so that `initialize` does not wait for the service. */
  place: () => Promise<AgentEnvironment>
}

export function acpAgent(options: AgentOptions): AgentApp {
  const desk: Desk = { ...options, sessions: new Map(), hasForms: false }
  const app = agent({ name: 'cairn' }).onRequest(methods.agent.initialize, ({ params }) => {
    desk.hasForms = Boolean(params.clientCapabilities?.elicitation?.form)
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'cairn', title: 'Cairn', version: options.version },
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        mcpCapabilities: {},
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
    }
  })
  return takePrompts(listSessions(openSessions(app, desk), desk), desk)
}

/** The state of a connection. */
type Desk = AgentOptions & {
  sessions: Map<string, Open>
  /** The client can show forms to its user. */
  hasForms: boolean
}

function opened({ sessions }: Desk, id: string, cwd: string | null, cursor: number): Open {
  const session = { id, cursor, running: null, updates: createUpdates({ cwd }) }
  sessions.set(id, session)
  return session
}

function openSessions(app: AgentApp, desk: Desk): AgentApp {
  return app
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      refuseServers(params.mcpServers)
      const { create } = await desk.place()
      const { id, notice } = await create(params.cwd)
      opened(desk, id, params.cwd, 0)
      greet(client, id, notice)
      return { sessionId: id }
    })
    .onRequest(methods.agent.session.load, async ({ params, client, signal }) => {
      refuseServers(params.mcpServers)
      const { service, cwdOf } = await desk.place()
      const { last_event_id } = await look(service, params.sessionId)
      const session = opened(desk, params.sessionId, cwdOf(params.sessionId), 0)
      await replay(service, client, session, last_event_id, signal)
      greet(client, params.sessionId, null)
      return {}
    })
    .onRequest(methods.agent.session.resume, async ({ params, client }) => {
      refuseServers(params.mcpServers ?? [])
      const { service, cwdOf } = await desk.place()
      const { last_event_id } = await look(service, params.sessionId)
      opened(desk, params.sessionId, cwdOf(params.sessionId), last_event_id)
      greet(client, params.sessionId, null)
      return {}
    })
}

function listSessions(app: AgentApp, { place, sessions }: Desk): AgentApp {
  return app
    .onRequest(methods.agent.session.list, async ({ params }) => {
      const { service, cwdOf } = await place()
      const page = await service.call('listSessions', {
        query: params.cursor ? { cursor: params.cursor } : {},
      })
      const listed = page.sessions.map(({ id, title, updated_at }) => ({
        sessionId: id,
        cwd: cwdOf(id) ?? '/',
        title,
        updatedAt: updated_at,
      }))
      return {
        sessions: params.cwd ? listed.filter(({ cwd }) => cwd === params.cwd) : listed,
        nextCursor: page.next_cursor,
      }
    })
    .onRequest(methods.agent.session.close, async ({ params }) => {
      const session = sessions.get(params.sessionId)
      sessions.delete(params.sessionId)
      await session?.running?.withdraw()
      return {}
    })
}

function takePrompts(app: AgentApp, desk: Desk): AgentApp {
  const { place, sessions } = desk
  return app
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = sessions.get(params.sessionId)
      if (session === undefined)
        throw RequestError.resourceNotFound(
          `session ${params.sessionId} is not open: load or resume it first`,
        )
      const message = messageOf(params.prompt)
      const { service } = await place()
      const { hasForms } = desk
      try {
        const stopReason = await takePrompt(service, session, signal, (over, onSent) =>
          runPrompt({ service, client, hasForms, signal: over, onSent }, session, message),
        )
        return { stopReason }
      } catch (error) {
        throw error instanceof ApiError ? RequestError.invalidRequest(error.problem, error.message) : error
      }
    })
    .onNotification(methods.agent.session.cancel, async ({ params }) => {
      await sessions.get(params.sessionId)?.running?.cancel()
    })
}

/** A session has the tools of its agent: a request to start MCP servers is rejected, not silently ignored. */
function refuseServers(servers: readonly unknown[]): void {
  if (servers.length > 0)
    throw RequestError.invalidParams(
      { mcpServers: servers.length },
      'MCP servers are named in the configuration of Cairn (mcp_servers), not by the client',
    )
}

async function look(service: CairnClient, id: string) {
  try {
    return await service.call('getSession', { params: { id } })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404)
      throw RequestError.resourceNotFound(`Session ${id} does not exist`)
    throw error
  }
}

async function replay(
  service: CairnClient,
  client: AgentContext,
  session: Open,
  last: number,
  signal: AbortSignal,
): Promise<void> {
  if (last === 0) return
  for await (const batch of service.events(session.id, { signal })) {
    for (const event of batch) {
      for (const update of session.updates.take(event))
        await client.notify(methods.client.session.update, { sessionId: session.id, update })
      session.cursor = event.id
      if (event.id >= last) return
    }
  }
}

/** Sent after the response that announces the session, so that the client knows whose updates these are. */
function greet(client: AgentContext, sessionId: string, notice: string | null): void {
  const names = new Set<string>()
  const availableCommands = SLASH_COMMANDS.flatMap(({ name, does }) => {
    if (names.has(name)) return []
    names.add(name)
    return [{ name, description: does, input: { hint: '…' } }]
  })
  setImmediate(() => {
    const told = [
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'available_commands_update', availableCommands },
      }),
      ...(notice === null
        ? []
        : [
            client.notify(methods.client.session.update, {
              sessionId,
              update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: notice } },
            }),
          ]),
    ]
    // A disconnected client reads no greeting; the connection reports its own end.
    void Promise.allSettled(told)
  })
}
