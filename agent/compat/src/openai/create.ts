/** POST /responses: sends a message, or decisions and answers, and follows the response that they start. */
import type { SessionRow } from '@cairn/log'
import { AppError, type EventId, type InboxItem, type Principal } from '@cairn/protocol'
import { createSession, DEFAULT_AGENT } from '@cairn/sessions'
import { questionOf } from '../changes/exchange.ts'
import { agentNames, type CallerRequest, type CompatDeps } from '../deps.ts'
import { outputOf } from '../request/ask-output.ts'
import { parseBody } from '../request/body.ts'
import { answer, decide, say } from '../request/command.ts'
import { dashed, findVisible, numberIn } from '../request/ids.ts'
import { findReaction } from '../request/reaction.ts'
import { findRepeated, hashOf } from '../request/retry.ts'
import { notFound, unsupported } from './errors.ts'
import { CreateResponse, refuseParameters, type Sent, sentOf } from './request.ts'
import { locate, parseResponseId, type ResponseRef } from './responses.ts'

const API = 'openai'

/** The response that the request starts, and how the caller wants it. */
export async function createResponse(
  deps: CompatDeps,
  request: CallerRequest,
): Promise<{ ref: ResponseRef; body: CreateResponse }> {
  const { principal } = request.caller
  const body = parseBody(CreateResponse, request.raw)
  const sent = sentOf(body.input)
  const known = await findConversation(deps, principal, body)
  refuseParameters(body, known === null)
  checkModel(deps, body, known)
  const hash = hashOf(request)
  if (sent.kind === 'answers') {
    if (body.metadata) throw unsupported('metadata', 'It belongs to a message.')
    if (known === null)
      throw unsupported('input', 'Approvals and outputs need a conversation or previous_response_id.')
    return { ref: await applyAnswers(deps, principal, known, sent), body }
  }
  const repeated = await findRepeated(deps, request, { session: known, channel: API })
  const session = repeated?.session ?? known ?? (await createConversation(deps, principal, body))
  const event =
    repeated?.event ??
    (await say(deps, {
      session,
      principal,
      content: sent.content,
      images: sent.images,
      origin: { api: API, request_hash: hash, ...(body.metadata ? { metadata: body.metadata } : {}) },
      on_question: 'refuse',
    }))
  const ref = await locate(deps, session, event)
  if (ref === null) throw new Error(`[openai] event ${event} of session ${session.id} is of no response`)
  return { ref, body }
}

/** The session of `conversation` or `previous_response_id`; null: the request begins one. */
async function findConversation(
  deps: CompatDeps,
  principal: Principal,
  { conversation, previous_response_id: previous }: CreateResponse,
): Promise<SessionRow | null> {
  if (conversation && previous)
    throw unsupported('previous_response_id', 'Send either conversation or previous_response_id.')
  if (conversation)
    return loadConversation(
      deps,
      principal,
      typeof conversation === 'string' ? conversation : conversation.id,
    )
  if (!previous) return null
  const parsed = parseResponseId(previous)
  const session = parsed === null ? null : await findVisible(deps, principal, parsed.session_id)
  const ref = session === null || parsed === null ? null : await locate(deps, session, parsed.start)
  if (session === null || parsed === null || ref?.start !== parsed.start)
    throw notFound('Previous response', previous)
  const last = await locate(deps, session, session.last_event_id)
  if (last?.start !== ref.start)
    throw unsupported(
      'previous_response_id',
      'Only the last response of a conversation can be continued: a log has no branches.',
    )
  return session
}

/** The session of a conversation; another person's is answered like one that does not exist. */
export async function loadConversation(
  deps: Pick<CompatDeps, 'store'>,
  principal: Principal,
  id: string,
): Promise<SessionRow> {
  const uuid = id.startsWith('conv_') ? dashed(id.slice('conv_'.length)) : null
  const session = uuid === null ? null : await findVisible(deps, principal, uuid)
  if (session === null) throw notFound('Conversation', id)
  return session
}

function checkModel(deps: CompatDeps, { model }: CreateResponse, session: SessionRow | null): void {
  if (model === undefined) return
  if (!agentNames(deps).includes(model))
    throw new AppError(
      'not_found',
      `The model '${model.slice(0, 100)}' does not exist: models are the agents.`,
      {
        extra: { param: 'model', openai_code: 'model_not_found' },
      },
    )
  if (session !== null && session.agent !== model)
    throw unsupported('model', `This conversation is of '${session.agent}', and its agent does not change.`)
}

export const createConversation = (
  deps: CompatDeps,
  principal: Principal,
  { model, instructions, temperature, max_output_tokens }: Partial<CreateResponse>,
): Promise<SessionRow> =>
  createSession(deps, agentNames(deps), {
    agent: model ?? DEFAULT_AGENT,
    channel: API,
    principal,
    config: {
      ...(instructions ? { system: instructions } : {}),
      ...(temperature === undefined || temperature === null ? {} : { temperature }),
      ...(max_output_tokens === undefined || max_output_tokens === null
        ? {}
        : { max_tokens: max_output_tokens }),
    },
  })

/** The response that the first decision or answer started. */
async function applyAnswers(
  deps: CompatDeps,
  principal: Principal,
  session: SessionRow,
  { decisions, answers }: Extract<Sent, { kind: 'answers' }>,
): Promise<ResponseRef> {
  const session_id = session.id
  const plans = [
    ...decisions.map(({ approval, approve, reason }) => {
      const gate = numberIn('apr_', approval)
      if (gate === null) throw notFound('Approval request', approval)
      return { asked: gate, run: () => decide(deps, principal, { session_id, gate }, { approve, reason }) }
    }),
    ...(await planAnswers(deps, principal, session, answers)),
  ]
  const done: { asked: EventId; item: InboxItem }[] = []
  for (const { asked, run } of plans) done.push({ asked, item: await run() })
  const [first] = done
  const reaction = first === undefined ? null : await findReaction(deps, session_id, first.asked, first.item)
  const ref = reaction === null ? null : await locate(deps, session, reaction)
  if (ref === null) throw new AppError('wrong_state', 'These items were answered, and no response followed.')
  return ref
}

async function planAnswers(
  deps: CompatDeps,
  principal: Principal,
  { id: session_id }: SessionRow,
  answers: Extract<Sent, { kind: 'answers' }>['answers'],
): Promise<{ asked: EventId; run: () => Promise<InboxItem> }[]> {
  const plans = []
  for (const { call, output } of answers) {
    const ask = numberIn('call_', call)
    const question = ask === null ? undefined : await questionOf(deps.store, session_id, ask)
    if (ask === null || question === undefined) throw notFound('Function call', call)
    const given = outputOf(output, question)
    plans.push({ asked: ask, run: () => answer(deps, principal, { session_id, ask }, given) })
  }
  return plans
}
