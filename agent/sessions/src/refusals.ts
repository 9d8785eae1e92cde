/** Maps refusals of the store to API errors. No other module does. */
import { CommitRefused, type Commit, type Committed, type LogStore, type Refusal } from '@cairn/log'
import { AppError, type ErrorCode, type InboxItem } from '@cairn/protocol'

const CODE: Record<Refusal, ErrorCode> = {
  no_session: 'not_found',
  wrong_status: 'wrong_state',
  already_answered: 'already_answered',
  question_open: 'question_open',
  // Commands carry no fence, no grant and no end of work: these refusals mean a bug.
  stale_lease: 'internal',
  has_title: 'internal',
  new_work: 'internal',
  no_grant: 'internal',
  // Callers that can meet these retry and do not get here.
  exists: 'internal',
  already_settled: 'internal',
  too_many_open: 'internal',
  too_many_children: 'internal',
  tree_moved: 'internal',
  timer_gone: 'internal',
  task_moved: 'wrong_state',
  mission_moved: 'wrong_state',
  // Harvests and citations are composed again.
  research_moved: 'internal',
  // Handled where a channel's message is accepted.
  already_accepted: 'internal',
  route_moved: 'internal',
  too_many_schedules: 'limit_reached',
  schedule_moved: 'internal',
  code_run_exists: 'internal',
  code_run_ended: 'internal',
  browser_moved: 'no_browser',
  control_held: 'control_held',
  // Answered with what the first attempt wrote.
  request_answered: 'idempotency_in_progress',
}

/** Commits for a caller. A refusal becomes an AppError that names the operation and the state it met. */
export async function commitFor(store: LogStore, operation: string, commit: Commit): Promise<Committed> {
  try {
    return await store.commit(commit)
  } catch (error) {
    if (!(error instanceof CommitRefused)) throw error
    throw refusedAs(operation, commit.session_id, error)
  }
}

/** The decision of an item that was open when its worker ended. */
export const ENDED = 'ended'

/** Why an item can no longer be answered. */
function describeAnswered({ status, decision }: Pick<InboxItem, 'status' | 'decision'>): string {
  if (status === 'expired' && decision === ENDED)
    return 'This has expired: the worker that asked has ended and reported its result. Nothing was changed.'
  const how = status === 'expired' ? 'has expired' : 'was already answered'
  return `This ${how}${decision === null ? '' : `: ${decision}`}.`
}

export function refusedAs(operation: string, sessionId: string, refused: CommitRefused): AppError {
  const { refusal, session, item } = refused
  const extra = {
    ...(session ? { session_status: session.status } : {}),
    ...(item ? { decision: item.decision, item_status: item.status } : {}),
  }
  const detail = {
    no_session: `Session ${sessionId} not found.`,
    wrong_status: `Cannot ${operation} a session that is ${session?.status ?? 'in another state'}.`,
    already_answered: item ? describeAnswered(item) : 'This was already answered.',
    stale_lease: 'Another runner took over the session.',
    browser_moved: 'The browser was closed or replaced.',
    control_held: 'Another user is controlling the browser.',
    has_title: 'The session already has a title.',
    question_open: 'A question of the agent is pending.',
    new_work: 'New messages arrived in the meantime.',
    no_grant: 'That call has no approval.',
    exists: 'A session with this ID exists already.',
    already_settled: 'The worker has ended.',
    too_many_open: 'The session has reached its limit of active workers.',
    too_many_children: 'The session tree has reached its limit of workers.',
    tree_moved: 'The worker sessions changed in the meantime: retry.',
    timer_gone: 'Another runner already fired the timer.',
    task_moved: 'The task changed in the meantime: reload it and retry.',
    research_moved: 'The research changed in the meantime: reload it and retry.',
    mission_moved: 'The mission changed in the meantime: reload it and retry.',
    already_accepted: 'This channel message was already accepted.',
    route_moved: 'The conversation continues in another session.',
    too_many_schedules: refused.message.replace('[commit] ', ''),
    schedule_moved: 'The schedule changed in the meantime: reload it and retry.',
    code_run_exists: 'The session already has an active coding agent run.',
    code_run_ended: 'The coding agent run has ended.',
    request_answered: 'Another attempt of this request was first: retry in a moment.',
  }[refusal]
  return new AppError(CODE[refusal], detail, { cause: refused, extra })
}

export const answeredBefore = (item: InboxItem): AppError =>
  new AppError('already_answered', describeAnswered(item), {
    extra: { decision: item.decision, item_status: item.status },
  })
