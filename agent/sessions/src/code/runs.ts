/**
 * Runs of coding agents: the code.* events with their rows, and what a stop, a pause or an archive means for
 * a session's run. The only writer of code.*.
 *
 * A run ends once. Its row is the guard: whichever moves it to `done` first, the runner with the agent's
 * result or a stop, writes code.run_result in the same commit; the other is rejected with `code_run_ended`.
 */
import {
  type CodeRun,
  type Commit,
  type EventWithRows,
  type LinkedCommit,
  type RowChange,
  withRows,
} from '@cairn/log'
import { type EventData, type EventDraft, writer } from '@cairn/protocol'
import type { Deps } from '../deps.ts'

const write = writer('code')
type Store = Deps['store']

export const codeRunStarted = (
  session_id: string,
  data: EventData<'code.run_started'>,
): EventWithRows<'code.run_started'> => {
  const { run_id, source_event_id, agent } = data
  return withRows(write('code.run_started', data), {
    do: 'code.begin',
    run: { run_id, session_id, source_event_id, agent },
  })
}

/** `used`: tokens so far, which a stop would report. */
export const codeRunProgress = (
  data: EventData<'code.run_progress'>,
  used: Partial<Pick<CodeRun, 'input_tokens' | 'output_tokens'>>,
): EventWithRows<'code.run_progress'> =>
  withRows(write('code.run_progress', data), { do: 'code.move', run_id: data.run_id, ...used })

export const codeChannelUpdate = (data: EventData<'code.run_channel_update'>): EventDraft =>
  write('code.run_channel_update', data)

export const codeRunResult = (data: EventData<'code.run_result'>): EventWithRows<'code.run_result'> =>
  withRows(write('code.run_result', data), {
    do: 'code.move',
    run_id: data.run_id,
    state: 'done',
    input_tokens: data.input_tokens,
    output_tokens: data.output_tokens,
  })

/** The session's run without a result. */
export async function findLiveRun(store: Store, sessionId: string): Promise<CodeRun | null> {
  const [newest] = await store.coordination.codeRuns(sessionId, 1)
  return newest === undefined || newest.state === 'done' ? null : newest
}

/** Closes the run's undecided permission requests. */
export async function closeGates(
  store: Store,
  session: { id: string; org_id: string },
  run_id: string,
  decision: string,
): Promise<RowChange[]> {
  const { items } = await store.listInbox({
    org_id: session.org_id,
    session_id: session.id,
    kind: ['governance_gate'],
    status: ['pending'],
    limit: 100,
  })
  return items.flatMap(({ payload }): RowChange[] =>
    payload['run_id'] === run_id
      ? [
          {
            do: 'inbox.expire_call',
            tool_call_id: String(payload['tool_call_id']),
            kind: 'governance_gate',
            decision,
          },
        ]
      : [],
  )
}

type CommitPart = Commit | LinkedCommit

/**
 * Extends a commit over sessions to their runs: stopping a session ends its run after session.stopped,
 * pausing it parks the run.
 */
export async function withRuns(deps: Deps, commit: Commit): Promise<Commit> {
  const also = await Promise.all((commit.also ?? []).map(part => withRun(deps, part)))
  const own = await withRun(deps, commit)
  return commit.also === undefined ? own : { ...own, also }
}

async function withRun<P extends CommitPart>(deps: Deps, part: P): Promise<P> {
  const has = (type: string): boolean => part.events.some(event => event.type === type)
  const isPause = has('session.pause')
  const isEnd = has('session.stopped') || part.set?.status === 'archived'
  if (!isPause && !isEnd) return part
  if (isEnd) {
    const { events, rows } = await stoppedRun(deps, part.session_id)
    const at = part.events.findIndex(({ type }) => type === 'session.stopped') + 1
    return {
      ...part,
      events: part.events.toSpliced(at === 0 ? part.events.length : at, 0, ...events),
      rows: [...rows, ...(part.rows ?? [])],
    }
  }
  const run = await findLiveRun(deps.store, part.session_id)
  if (run === null) return part
  return {
    ...part,
    rows: [...(part.rows ?? []), { do: 'code.move', run_id: run.run_id, state: 'parked' }],
  }
}

/** Ends the session's run when the session is stopped; empty if it has none. */
export async function stoppedRun(
  { store, now }: Deps,
  sessionId: string,
): Promise<{ events: EventWithRows[]; rows: RowChange[] }> {
  const run = await findLiveRun(store, sessionId)
  const session = run === null ? null : await store.getSession(sessionId)
  if (run === null || session === null) return { events: [], rows: [] }
  const { run_id, agent, input_tokens, output_tokens, started_at } = run
  const result = codeRunResult({
    run_id,
    agent,
    final_message: null,
    error: 'stopped',
    input_tokens,
    output_tokens,
    duration_seconds: Math.max(0, (now() - started_at) / 1000),
  })
  return { events: [result], rows: await closeGates(store, session, run_id, 'stopped') }
}
