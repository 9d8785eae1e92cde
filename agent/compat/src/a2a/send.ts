/** Messages of other agents, as commands. */
import type { SessionRow } from '@cairn/log'
import { AppError, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import { findExchange, recentMessages } from '../changes/exchange.ts'
import type { CompatDeps } from '../deps.ts'
import { outputOf } from '../request/ask-output.ts'
import { answer, decide, openSession, say } from '../request/command.ts'
import { findNamed, numberIn } from '../request/ids.ts'
import { compatOrigin } from '../request/origin.ts'
import { refuse } from './errors.ts'
import { findTask, readTask, type TaskRef } from './follow.ts'
import { contentOf, Message, type Waiting } from './parts.ts'
import { isTerminal, isWaiting } from './tasks.ts'

const API = 'a2a'

export const SendParams = z.looseObject({
  tenant: z.string().optional(),
  message: Message,
  configuration: z
    .looseObject({
      returnImmediately: z.boolean().optional(),
      historyLength: z.int().min(0).nullish(),
      taskPushNotificationConfig: z.unknown().optional(),
    })
    .nullish(),
})
export type SendParams = z.infer<typeof SendParams>

type Caller = { principal: Principal; agent: string; base: string }

/** Sends the message, and returns the task that it is of. */
export async function sendMessage(
  deps: CompatDeps,
  caller: Caller,
  { message, configuration, tenant }: SendParams,
): Promise<TaskRef> {
  if (tenant) throw refuse('UNSUPPORTED_OPERATION', 'tenant: not supported. The credentials name it.')
  if (configuration?.taskPushNotificationConfig)
    throw refuse(
      'PUSH_NOTIFICATION_NOT_SUPPORTED',
      'Push notifications are not supported: subscribe to the task.',
    )
  return message.taskId
    ? continueTask(deps, caller, message, message.taskId)
    : beginTask(deps, caller, message)
}

async function beginTask(deps: CompatDeps, { principal, agent }: Caller, message: Message): Promise<TaskRef> {
  // A message that is repeated after a lost answer finds its session by its own id.
  const name = message.contextId || `message ${message.messageId}`
  const { id, session } = await findNamed(deps, principal, API, name)
  if (session !== null && session.agent !== agent)
    throw refuse('INVALID_PARAMS', `This context is of the agent '${session.agent}', which does not change.`)
  const opened = session ?? (await openSession(deps, principal, { id, channel: API, agent }))
  return sayOnce(deps, principal, opened, message)
}

async function sayOnce(
  deps: CompatDeps,
  principal: Principal,
  session: SessionRow,
  message: Message,
): Promise<TaskRef> {
  const { messageId } = message
  // A repeated message is among the latest.
  const sent = await recentMessages(deps.store, session, () => true)
  const known = sent.find(({ event }) => compatOrigin(event.data.metadata).message_id === messageId)
  const { text, images, data } = contentOf(message)
  if (data.length > 0)
    throw refuse('INVALID_PARAMS', 'Data is the answer to a task that waits: name it with taskId.')
  const origin = { api: API, message_id: messageId }
  const event =
    known?.event.id ??
    (await say(deps, { session, principal, content: text, images, origin, on_question: 'refuse' }))
  const exchange = await findExchange(deps.store, session.id, event)
  if (exchange === null) throw new Error(`[a2a] event ${event} of session ${session.id} is of no exchange`)
  return { session, exchange }
}

async function continueTask(
  deps: CompatDeps,
  { principal, agent, base }: Caller,
  message: Message,
  id: string,
): Promise<TaskRef> {
  const ref = await findTask(deps, principal, agent, id)
  if (message.contextId && message.contextId !== ref.session.id)
    throw refuse('INVALID_PARAMS', 'contextId: must be that of the task, or absent.')
  const { task, writer } = await readTask(deps, ref, base)
  if (isTerminal(task)) {
    const isRepeated = task.history.some(({ messageId }) => messageId === message.messageId)
    if (isRepeated) return ref
    throw refuse(
      'UNSUPPORTED_OPERATION',
      'This task is over: send a message with its contextId to begin another.',
    )
  }
  if (!isWaiting(task)) return sayOnce(deps, principal, ref.session, message)
  await react(deps, principal, ref, message, writer.waiting)
  return ref
}

const Decision = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  approval: z.string().optional(),
  reason: z.string().min(1).optional(),
  shown_hash: z.string().optional(),
})

/** Decides an approval by a data part, or answers a question or completes an action by text or data. */
async function react(
  deps: CompatDeps,
  principal: Principal,
  { session: { id: session_id } }: TaskRef,
  message: Message,
  waiting: readonly Waiting[],
): Promise<void> {
  const { text, data } = contentOf(message)
  const decisions = data.map(each => Decision.safeParse(each)).filter(({ success }) => success)
  if (decisions.length > 0) {
    if (decisions.length < data.length || text !== '')
      throw refuse('INVALID_PARAMS', 'Send decisions alone, or an answer alone.')
    for (const { data: decision } of decisions) {
      if (decision === undefined) continue
      const { approval, decision: made, ...more } = decision
      await decide(
        deps,
        principal,
        { session_id, gate: gateOf(waiting, approval) },
        { approve: made === 'approve', ...more },
      )
    }
    return
  }
  const asks = waiting.filter(item => item.kind === 'asked')
  const [ask, ...more] = asks
  if (ask === undefined)
    throw refuse(
      'INVALID_PARAMS',
      'This task waits for an approval: send a data part {"decision": "approve"} or {"decision": "reject"}.',
    )
  if (more.length > 0)
    throw new AppError('wrong_state', 'Several questions are open: answer them in the web UI.')
  const given = data.length > 0 ? JSON.stringify(data[0]) : text
  await answer(deps, principal, { session_id, ask: ask.ask }, outputOf(given, ask.question))
}

function gateOf(waiting: readonly Waiting[], approval: string | undefined): number {
  const gates = waiting.flatMap(item => (item.kind === 'gate' ? [item.gate] : []))
  const named = approval === undefined ? undefined : numberIn('apr_', approval)
  const gate = approval === undefined && gates.length === 1 ? gates[0] : named
  if (gate === undefined || gate === null || !gates.includes(gate))
    throw refuse(
      'INVALID_PARAMS',
      `approval: must be one of ${gates.map(each => `apr_${each}`).join(', ') || 'none, because none is open'}.`,
    )
  return gate
}
