/**
 * Runs of coding agents: the code.* events with their rows, and what a stop, a pause or an archive means for
 * a session's run. The only writer of code.*.
 *
 * A run ends once. Its row is the guard: whichever moves it to `done` first, the runner with the agent's
 * result or a stop, writes code.run_result in the same commit; the other is rejected with `code_run_ended`.
 */
import { type CodeRun, type EventWithRows, type RowChange, withRows } from '@cairn/log'
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
  const [newest] = await store.codeRuns.list(sessionId, 1)
  return newest === undefined || newest.state === 'done' ? null : newest
}

/** Closes the run's undecided permission requests. */
export async function closeGates(
  store: Store,
  session: { id: string; org_id: string },
  run_id: string,
  decision: string,
): Promise<RowChange[]> {
  const { items } = await store.inbox.list({
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

/** Parks the session's run while the session is paused. */
export async function parkRun(store: Store, sessionId: string): Promise<RowChange[]> {
  const run = await findLiveRun(store, sessionId)
  return run === null ? [] : [{ do: 'code.move', run_id: run.run_id, state: 'parked' }]
}

/** The end of a session's run, for the commit that stops the session; empty if it has none. */
export type EndedRun = { events: EventWithRows[]; rows: RowChange[] }

export async function stopRun(
  { store, now }: Deps,
  session: { id: string; org_id: string },
): Promise<EndedRun> {
  const run = await findLiveRun(store, session.id)
  if (run === null) return { events: [], rows: [] }
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
