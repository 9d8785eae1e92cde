/** The tools of Cairn's MCP server: each is a command of sessions/ with the caller's principal. */
import type { Principal } from '@cairn/protocol'
import { findInboxItem, findSession } from '@cairn/sessions'
import { z } from 'zod'
import type { CompatDeps } from '../deps.ts'
import { answer, decide, openSession, say, stop } from '../request/command.ts'
import { failedCall } from './errors.ts'
import { applyResponses, elicitationsOf } from './input.ts'
import {
  exchangeOf,
  type ExchangeRef,
  followProgress,
  isAtRest,
  lastExchange,
  type Progress,
  readProgress,
} from './progress.ts'
import { reportOf, textResult } from './report.ts'
import { listSessions, readSession, search } from './read-tools.ts'
import { type McpTool, startedTask, type ToolOutcome } from './server.ts'
import { readTask } from './tasks.ts'
import { type Call, READS, SessionId, tool, WRITES } from './tool.ts'

const API = 'mcp'
const MAX_MESSAGE = 200_000

const Message = z.string().min(1).max(MAX_MESSAGE).describe('what the agent is to do')
const ItemId = z.string().max(100).describe('item_id of an open item, as wait returns it')

/** A task if the client can poll one, else the state at once. */
async function started({ deps, takesTasks }: Call, ref: ExchangeRef): Promise<ToolOutcome> {
  if (takesTasks) return startedTask(await readTask(deps, ref))
  return reportOf(deps, ref, await readProgress(deps, ref))
}

async function sayIn(call: Call, ref: Pick<ExchangeRef, 'session'>, content: string): Promise<ToolOutcome> {
  const { deps, principal } = call
  const message = await say(deps, {
    session: ref.session,
    principal,
    content,
    origin: { api: API },
    on_question: 'refuse',
  })
  return started(call, await exchangeOf(deps, ref.session, message))
}

const startSession = tool(
  {
    name: 'start_session',
    title: 'Start a session',
    description:
      'Start a session of an agent with a message. The agent works in the background: call wait for its answer.',
    hints: WRITES,
  },
  z.object({ message: Message, agent: z.string().max(100).optional().describe('name of the agent') }),
  async ({ message, agent }, call) => {
    const { deps, principal } = call
    const session = await openSession(deps, principal, { id: deps.newId(), channel: API, agent })
    return sayIn(call, { session }, message)
  },
)

const sendMessage = tool(
  {
    name: 'send_message',
    title: 'Send a message',
    description:
      'Send a message to a session. If its agent is working, the message is added to that work. Call wait for ' +
      'the answer.',
    hints: WRITES,
  },
  z.object({ session_id: SessionId, message: Message }),
  async ({ session_id, message }, call) => {
    const session = await findSession(call.deps.store, call.principal, session_id)
    return sayIn(call, { session }, message)
  },
)

const MAX_WAIT_S = 50

/** Follows the exchange until it is at rest, at most `ms` long. */
async function rest({ deps, signal }: Call, ref: ExchangeRef, after: number, ms: number): Promise<Progress> {
  const stopping = AbortSignal.any([signal, AbortSignal.timeout(ms)])
  let last: Progress | null = null
  for await (const progress of followProgress(deps, ref, stopping)) {
    last = progress
    if (progress.isOver || (isAtRest(progress) && progress.last > after)) break
  }
  return last ?? readProgress(deps, ref)
}

const wait = tool(
  {
    name: 'wait',
    title: 'Wait for the agent',
    description:
      'Wait until the agent has answered or needs the user, and return the answer and the open items. If the ' +
      'agent is still working after `seconds`, call wait again.',
    hints: READS,
  },
  z.object({
    session_id: SessionId,
    after: z.int().min(0).default(0).describe('`after` of an earlier result: wait for something newer'),
    seconds: z.number().min(0).max(MAX_WAIT_S).default(30),
  }),
  async ({ session_id, after, seconds }, call) => {
    const { deps, principal, inputResponses } = call
    const session = await findSession(deps.store, principal, session_id)
    const ref = await lastExchange(deps, session)
    if (ref === null) return failedCall('This session has no message yet: call send_message.')
    if (inputResponses !== null) {
      const { open } = await readProgress(deps, ref)
      await applyResponses(deps, principal, session_id, open, inputResponses)
    }
    const progress = await rest(call, ref, after, seconds * 1000)
    // What the user did not answer is asked again by the next call only.
    const asked = Object.entries(elicitationsOf(progress.open)).filter(
      ([key]) => inputResponses === null || !Object.hasOwn(inputResponses, key),
    )
    return call.canElicit && asked.length > 0
      ? { resultType: 'input_required', inputRequests: Object.fromEntries(asked) }
      : reportOf(deps, ref, progress)
  },
)

/** The place of an item in the log, which the commands take. */
async function findAsked({ deps, principal }: Call, item_id: string) {
  const { session_id, source_event_id } = await findInboxItem(deps.store, principal, item_id)
  return { session_id, event: source_event_id }
}

const answerTool = tool(
  {
    name: 'answer',
    title: 'Answer a question',
    description:
      "Give the user's answers to a question of the agent, or report that the user has done what it asked for. " +
      'Ask the user first.',
    hints: WRITES,
  },
  z.object({
    item_id: ItemId,
    responses: z
      .array(z.object({ question: z.string().max(10_000), answer: z.string().max(10_000) }))
      .min(1)
      .max(50)
      .optional()
      .describe('an answer for each prompt of a question'),
    note: z.string().max(2_000).optional().describe('for an action: what the user did'),
  }),
  async ({ item_id, responses, note }, call) => {
    const { session_id, event } = await findAsked(call, item_id)
    const output = responses === undefined ? { completed: true as const, note } : { responses }
    await answer(call.deps, call.principal, { session_id, ask: event }, output)
    return textResult('Answered. Call wait for what the agent does next.', { session_id, item_id })
  },
)

const decideTool = tool(
  {
    name: 'decide',
    title: 'Approve or reject a call',
    description:
      'Approve or reject a tool call of the agent. Show the user its arguments and ask first: an approved call ' +
      'runs with them.',
    hints: { ...WRITES, destructiveHint: true },
  },
  z.object({
    item_id: ItemId,
    approve: z.boolean(),
    reason: z.string().max(500).optional().describe('reason that the agent gets with the decision'),
  }),
  async ({ item_id, approve, reason }, call) => {
    const { session_id, event } = await findAsked(call, item_id)
    await decide(call.deps, call.principal, { session_id, gate: event }, { approve, reason })
    const done = approve ? 'Approved' : 'Rejected'
    return textResult(`${done}. Call wait for what the agent does next.`, { session_id, item_id })
  },
)

const stopTool = tool(
  {
    name: 'stop',
    title: 'Stop the agent',
    description: 'Stop the work of a session. The session can be continued with another message.',
    hints: { ...WRITES, destructiveHint: true, idempotentHint: true },
  },
  z.object({ session_id: SessionId }),
  async ({ session_id }, { deps, principal }) => {
    const session = await findSession(deps.store, principal, session_id)
    const stopped = await stop(deps, session.id)
    return textResult(stopped ? 'Stopped.' : 'Nothing was running.', { session_id, stopped })
  },
)

const TOOLS = [
  startSession,
  sendMessage,
  wait,
  readSession,
  search,
  listSessions,
  answerTool,
  decideTool,
  stopTool,
] as const

export const cairnTools = (deps: CompatDeps, principal: Principal): McpTool[] =>
  TOOLS.map(make => make(deps, principal))
