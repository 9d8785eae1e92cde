/** Messages of other agents, as commands. */
import { createHash } from 'node:crypto'
import type { SessionRow } from '@cairn/log'
import { AppError, type Principal, typesWith } from '@cairn/protocol'
import { z } from 'zod'
import { findExchange, recentMessages } from '../changes/exchange.ts'
import { readLog } from '../changes/tail.ts'
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

/** What a message has and Cairn has not, with the reason. */
export const REFUSED_FIELDS = {
  extensions: 'The card of the agent lists none.',
  referenceTaskIds: 'Send the message with the contextId of the other tasks: the agent knows all of them.',
}

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
  for (const [field, why] of Object.entries(REFUSED_FIELDS))
    if ((message[field as keyof typeof REFUSED_FIELDS]?.length ?? 0) > 0)
      throw refuse('UNSUPPORTED_OPERATION', `message.${field}: not supported. ${why}`)
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
  if (task.history.some(({ messageId }) => messageId === message.messageId)) return ref
  const known = await requestKeys(deps, ref)
  const reactions = reactionsOf(principal, message).filter(({ request_key }) => !known.has(request_key))
  if (reactions.length === 0) return ref
  if (isTerminal(task))
    throw refuse(
      'UNSUPPORTED_OPERATION',
      'This task is over: send a message with its contextId to begin another.',
    )
  if (!isWaiting(task)) return sayOnce(deps, principal, ref.session, message)
  for (const reaction of reactions) await react(deps, principal, ref, reaction, writer.waiting)
  return ref
}

const Decision = z.strictObject({
  decision: z.enum(['approve', 'reject']),
  approval: z.string().optional(),
  reason: z.string().min(1).optional(),
  shown_hash: z.string().optional(),
})

/** `request_key` names it by its message: the answer to a message may be lost, and the message repeated. */
type Reaction = { request_key: string } & (
  { kind: 'decision'; decision: z.infer<typeof Decision> } | { kind: 'answer'; given: string }
)

/** The decisions of a message, one a data part; or the answer that it is, by text or data. */
function reactionsOf(principal: Principal, message: Message): Reaction[] {
  const { text, data } = contentOf(message)
  const keyOf = (part: string): string =>
    createHash('sha256')
      .update(JSON.stringify([API, principal.id, message.messageId, part]))
      .digest('hex')
  const decisions = data.flatMap(each => Decision.safeParse(each).data ?? [])
  if (decisions.length === 0)
    return [
      { kind: 'answer', request_key: keyOf(''), given: data.length > 0 ? JSON.stringify(data[0]) : text },
    ]
  if (decisions.length < data.length || text !== '')
    throw refuse('INVALID_PARAMS', 'Send decisions alone, or an answer alone.')
  return decisions.map(decision => ({
    kind: 'decision',
    request_key: keyOf(decision.approval ?? ''),
    decision,
  }))
}

/** The keys of the requests that answered something since the task began. */
async function requestKeys({ store }: CompatDeps, { session, exchange }: TaskRef): Promise<Set<string>> {
  const keys = new Set<string>()
  for await (const { data } of readLog(store, session.id, { after: exchange }, typesWith('wakes')))
    if ('request_key' in data && typeof data.request_key === 'string') keys.add(data.request_key)
  return keys
}

/** Decides an approval, answers a question, or completes an action. */
async function react(
  deps: CompatDeps,
  principal: Principal,
  { session: { id: session_id } }: TaskRef,
  { request_key, ...reaction }: Reaction,
  waiting: readonly Waiting[],
): Promise<void> {
  if (reaction.kind === 'decision') {
    const { approval, decision, ...more } = reaction.decision
    const place = { session_id, gate: gateOf(waiting, approval) }
    await decide(deps, principal, place, { approve: decision === 'approve', ...more, request_key })
    return
  }
  const [ask, ...more] = waiting.filter(item => item.kind === 'asked')
  if (ask === undefined)
    throw refuse(
      'INVALID_PARAMS',
      'This task waits for an approval: send a data part {"decision": "approve"} or {"decision": "reject"}.',
    )
  if (more.length > 0)
    throw new AppError('wrong_state', 'Several questions are open: answer them in the web UI.')
  const output = outputOf(reaction.given, ask.question)
  await answer(deps, principal, { session_id, ask: ask.ask }, { ...output, request_key })
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
