/**
 * Ratings of answers (contract 14.9). The only writer of user.feedback, expert.endorse and expert.override.
 */
import {
  AppError,
  decodeEvent,
  type EventDraft,
  type EventId,
  type EventOf,
  type Principal,
  type SessionEvent,
  writer,
} from '@cairn/protocol'
import { IMPORT } from '@cairn/state'
import type { Deps } from '../deps.ts'
import { commitFor } from '../refusals.ts'

const write = writer('feedback')

export type GiveFeedback = {
  session_id: string
  event_id: EventId
  rating: 'up' | 'down'
  withdrawn?: true | undefined
  reason?: string | undefined
  rationale?: string | undefined
  score?: number | undefined
  criteria?: Record<string, number> | undefined
  /** For an imported conversation: the rated message of the event. */
  history_item?: number | undefined
  principal: Principal
}
type RatingType = 'user.feedback' | 'expert.endorse' | 'expert.override'

/**
 * Rates an llm.response, an expert.result or an imported answer. A second rating by the same principal is a
 * new event; the latest counts, and a `withdrawn` one counts as none.
 */
export async function giveFeedback(
  { store }: Deps,
  given: GiveFeedback,
): Promise<{ event_id: EventId; event_type: RatingType; source: 'user' | 'judge' }> {
  const [stored] = await store.events.read(given.session_id, given.event_id - 1, 1)
  if (!stored || stored.id !== given.event_id)
    throw new AppError('not_found', `Event ${given.event_id} not found in this session.`)
  const draft = rate(decodeEvent(stored.json), given)
  const { events } = await commitFor(store, 'rate an event of', {
    session_id: given.session_id,
    events: [draft],
    expect_status: ['active', 'paused', 'completed', 'failed'],
  })
  const [written] = events
  if (!written) throw new Error('[giveFeedback] the store acknowledged a commit without its event')
  return { event_id: written.id, event_type: draft.type, source: sourceOf(given.principal) }
}

/** The event of a rating, which depends on the target and, for an expert, on the thumb. */
function rate(
  target: SessionEvent,
  { rating, withdrawn, reason, rationale, score, criteria, history_item, principal }: GiveFeedback,
): EventDraft<RatingType> {
  const rated = {
    target_event_id: target.id,
    rating,
    source: sourceOf(principal),
    ...(principal.kind === 'user'
      ? { rated_by_user_id: principal.id }
      : { rated_by_service_account_id: principal.id }),
    ...(withdrawn === undefined ? {} : { withdrawn }),
    ...(reason === undefined ? {} : { reason }),
    ...(rationale === undefined ? {} : { rationale }),
    ...(score === undefined ? {} : { score }),
    ...(criteria === undefined ? {} : { criteria }),
  }
  if (target.type === 'user.message' && target.data.synthetic === IMPORT)
    return write('user.feedback', { ...rated, history_item: importedAnswer(target, history_item) })
  if (history_item !== undefined)
    throw new AppError('wrong_target', `Event ${target.id} is not an import: omit history_item.`)
  if (target.type === 'llm.response') {
    if (target.data.finish_reason === 'command')
      throw new AppError(
        'wrong_target',
        `Event ${target.id} is a server reply to a command: only answers of a model can be rated.`,
      )
    return write('user.feedback', rated)
  }
  if (target.type === 'expert.result')
    return write(rating === 'up' ? 'expert.endorse' : 'expert.override', {
      expert: target.data.expert,
      ...rated,
    })
  throw new AppError(
    'wrong_target',
    `Event ${target.id} is ${target.type}: only llm.response, expert.result and imported answers can be ` +
      'rated.',
  )
}

function importedAnswer({ id, data }: EventOf<'user.message'>, item: number | undefined): number {
  const message = item === undefined ? undefined : data.history?.[item]
  if (item !== undefined && message?.['role'] === 'assistant') return item
  throw new AppError(
    'wrong_target',
    `Event ${id} is an import: history_item must be the position of an answer in its history.`,
  )
}

const sourceOf = (principal: Principal): 'user' | 'judge' => (principal.kind === 'user' ? 'user' : 'judge')
