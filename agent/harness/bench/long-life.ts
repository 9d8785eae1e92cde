/**
 * A session that was used for long, as its log: turns of two answers and a call, streamed in chunks and
 * compacted now and then; here and there an approval that nobody gives, and a consulted expert.
 */
import type { LogStore } from '@cairn/log'
import { type EventData, type EventDraft, writer } from '@cairn/protocol'

const [messages, lifecycle, wake, turn, tools, experts, inbox] = [
  writer('messages'),
  writer('lifecycle'),
  writer('wake'),
  writer('turn'),
  writer('tools'),
  writer('experts'),
  writer('inbox'),
]
const TURNS_A_COMPACTION = 40
const CHUNKS = 20
const words = (chars: number): string => 'as it was said before and is said again '.repeat(chars / 40)
const spent = { model: 'demo/model', reasoning_tokens: 0, cache_read_tokens: 0, context_window: 200_000 }

/** The events of its nth turn, the first of which will have the id after `last`. */
function turnOf(n: number, last: number): EventDraft[] {
  const turn_id = `turn-${n}`
  const at = (iteration_index: number) => ({ turn_id, iteration_index })
  const time = '2026-01-01T00:00:00.000Z'
  const answer = (
    iteration: number,
    message: EventData<'llm.response'>['message'],
    finish_reason: 'stop' | 'tool_calls',
  ): EventDraft[] => [
    turn('llm.request', { model: 'demo/model', ...at(iteration) }),
    ...Array.from({ length: CHUNKS }, () => turn('llm.delta', { content: words(40), ...at(iteration) })),
    turn('llm.response', {
      message,
      ...spent,
      input_tokens: 20_000,
      output_tokens: 200,
      finish_reason,
      ...at(iteration),
    }),
  ]
  const call = { id: `call-${n}`, type: 'function' as const }
  const recap = { summary: 'Read it', started_at: time, ended_at: time }
  return [
    ...(n === 0 ? [] : [lifecycle('session.resume', { source: 'message' })]),
    messages('user.message', { content: words(200) }),
    wake('harness.wake', { worker_id: 'worker', cursor: last }),
    ...(n % TURNS_A_COMPACTION === TURNS_A_COMPACTION - 1 ? [compacted(last)] : []),
    ...answer(
      0,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ ...call, function: { name: 'read_file', arguments: '{"path":"notes.md"}' } }],
      },
      'tool_calls',
    ),
    tools('tool.call', {
      tool_call_id: call.id,
      name: 'read_file',
      arguments: { path: 'notes.md' },
      ...at(0),
    }),
    ...(n % 10 === 0 ? consulted(call.id) : []),
    ...(n % 50 === 0 ? [gated(`gated-${n}`)] : []),
    tools('tool.result', {
      tool_call_id: call.id,
      name: 'read_file',
      content: words(1200),
      elapsed_ms: 1,
      ...at(0),
    }),
    turn('iteration.summary', { ...recap, tool_call_ids: [call.id], ...at(0) }),
    ...answer(1, { role: 'assistant', content: words(800) }, 'stop'),
    turn('iteration.summary', { ...recap, tool_call_ids: [], ...at(1) }),
    turn('turn.summary', { recap: 'Read it', artifacts: [], iterations: 2, ...at(1) }),
    lifecycle('session.complete', { reason: 'completed', worker_id: 'worker' }),
  ]
}

const compacted = (through_event_id: number): EventDraft =>
  turn('context.compact', {
    strategy: 'summary',
    original_message_count: 160,
    compressed_message_count: 1,
    through_event_id,
    compacted_messages: [{ role: 'user', content: `[Summary of the conversation so far]\n${words(4000)}` }],
    reason: 'threshold',
  })

const consulted = (tool_call_id: string): EventDraft[] => [
  experts('expert.delegation', {
    expert: 'reader',
    task: words(200),
    tools: [],
    max_iterations: 3,
    tool_call_id,
  }),
  experts('expert.result', {
    expert: 'reader',
    success: true,
    iterations_used: 1,
    content: words(2000),
    tool_call_id,
  }),
]

const gated = (tool_call_id: string): EventDraft =>
  inbox('inbox.governance_gate', {
    tool_name: 'terminal',
    tool_call_id,
    arguments_excerpt: words(200),
    deny_reason: 'requires approval',
    policy_id: 'p',
  })

/** Whole turns until there are so many events, in portions for one commit each. */
export function* longLife(events: number): Generator<EventDraft[]> {
  let last = 0
  for (let n = 0; last < events;) {
    const portion: EventDraft[] = []
    while (portion.length < 1000 && last < events) {
      const next = turnOf(n++, last)
      last += next.length
      portion.push(...next)
    }
    yield portion
  }
}

/** Writes it into a session of a store, with nothing left to do in it. */
export async function liveLong(store: LogStore, session_id: string, events: number): Promise<void> {
  for (const portion of longLife(events))
    await store.commit({ session_id, events: portion, cursor: 'self', set: { status: 'completed' } })
}
