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
export function describeAnswered({ status, decision }: Pick<InboxItem, 'status' | 'decision'>): string {
  if (status === 'expired' && decision === ENDED)
    return 'This has expired: the worker that asked has ended, and its outcome is told. Nothing was done.'
  const how = status === 'expired' ? 'has expired' : 'was answered before'
  return `This ${how}${decision === null ? '' : `: ${decision}`}.`
}

export function refusedAs(operation: string, sessionId: string, refused: CommitRefused): AppError {
  const { refusal, session, item } = refused
  const extra = {
    ...(session ? { session_status: session.status } : {}),
    ...(item ? { decision: item.decision, item_status: item.status } : {}),
  }
  const detail = {
    no_session: `There is no session ${sessionId}.`,
    wrong_status: `Cannot ${operation} a session that is ${session?.status ?? 'in another state'}.`,
    already_answered: item ? describeAnswered(item) : 'This was answered before.',
    stale_lease: 'Another worker took over.',
    browser_moved: 'The browser is another one, or gone.',
    control_held: 'Another person drives the browser.',
    has_title: 'The session has a title.',
    question_open: 'A question of the agent waits for its answer.',
    new_work: 'New work arrived.',
    no_grant: 'There is no approval for that call.',
    exists: 'There is a session of that id.',
    already_settled: 'The child has ended.',
    too_many_open: 'The session has as many open children as it may have.',
    too_many_children: 'The tree was given as many children as it may have.',
    tree_moved: 'The sessions below have changed meanwhile.',
    timer_gone: 'Somebody else acted on the timer.',
    task_moved: 'The task has gone on meanwhile.',
    research_moved: 'The research has gone on meanwhile.',
    mission_moved: 'The mission has gone on meanwhile.',
    already_accepted: 'That message of a channel was accepted before.',
    route_moved: 'The conversation goes on in another session.',
    too_many_schedules: refused.message.replace('[commit] ', ''),
    schedule_moved: 'The schedule has changed meanwhile.',
    code_run_exists: 'There is a run of a coding agent already.',
    code_run_ended: 'The run of the coding agent has ended.',
  }[refusal]
  return new AppError(CODE[refusal], detail, { cause: refused, extra })
}
