/**
 * What people and programs add to a session: messages, goals, answers, ratings, the acceptance of the
 * disclosure.
 */
import { AppError } from '@cairn/protocol'
import {
  addMessage,
  answerQuestion as answer,
  confirmDisclosure as confirm,
  defineOutcomes,
  findRequest,
  giveFeedback as rate,
  requireConfirmed,
} from '@cairn/sessions'
import { type Handler, jsonText } from '../handler.ts'

export const sendMessage: Handler<'sendMessage'> = async ({ services, principal, params, body, held }) => {
  const passed = services.guard.check(principal, params.id)
  if (passed instanceof Promise) await passed
  const { level, require_confirm } = services.config.disclosure
  if (require_confirm && level !== 'none') await requireConfirmed(services, params.id, principal)
  // A request that died may have committed its message: then that message is the answer.
  const landed = held?.abandoned ? await findRequest(services, params.id, held.requestKey) : null
  const { id, type } = landed ?? (await add())
  const taken_as = type === 'ask_user_question.response' ? 'answer' : 'message'
  return jsonText(`{"event_id":${id},"session_id":${JSON.stringify(params.id)},"taken_as":"${taken_as}"}`)

  async function add() {
    const { message_id, type } = await addMessage(services, {
      ...body,
      session_id: params.id,
      principal,
      ...(held ? { request_key: held.requestKey, request: held.request } : {}),
    })
    return { id: message_id, type }
  }
}

export const postEvents: Handler<'postEvents'> = async ({ services, principal, params, body }) => {
  await services.guard.check(principal, params.id)
  return { events: await defineOutcomes(services, params.id, body.events) }
}

export const answerQuestion: Handler<'answerQuestion'> = async ({
  services,
  principal,
  params,
  body,
  held,
}) => {
  await services.guard.check(principal, params.id)
  const { events } = await answer(services, {
    session_id: params.id,
    tool_call_id: params.tool_call_id,
    responses: body.responses,
    principal,
    rows: held ? [{ do: 'request.answer', request: held.request, members: {} }] : [],
  })
  const written = events.find(event => event.type === 'ask_user_question.response')
  if (written === undefined)
    throw new Error('[answerQuestion] the store acknowledged a commit without its event')
  return { event_id: written.id }
}

export const giveFeedback: Handler<'giveFeedback'> = async ({ services, principal, params, body }) => {
  await services.guard.check(principal, params.id)
  if (!/^[1-9]\d{0,14}$/.test(params.event_id))
    throw new AppError(
      'invalid_cursor',
      `Invalid event_id ${JSON.stringify(params.event_id.slice(0, 40))}: must be a positive integer.`,
    )
  return rate(services, { ...body, session_id: params.id, event_id: Number(params.event_id), principal })
}

export const confirmDisclosure: Handler<'confirmDisclosure'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  await confirm(services, params.id, services.config.disclosure.level, principal)
  return undefined
}
