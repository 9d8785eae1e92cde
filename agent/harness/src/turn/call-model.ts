/**
 * The model call of one iteration: llm.request, the stream, llm.thinking, llm.response; retried if that can
 * help (contract 7). Every attempt has its own llm.request; a retry after chunks were shown makes readers
 * discard them.
 */
import { CommitRefused } from '@cairn/log'
import { asError, type EventData, type EventDraft } from '@cairn/protocol'
import { backoffMs, MODEL_BACKOFF } from '@cairn/models/backoff'
import { sleep } from '@cairn/models/clock'
import type { Turn } from './capability.ts'
import { LeaseLost } from './lease.ts'
import {
  acceptableTools,
  MAX_LESSONS,
  type ModelAnswer,
  type ModelChunk,
  ModelError,
  type ModelRequest,
  type ToolSchema,
  costOf,
  startCallTimeout,
  type ResolvedModel,
  type ServerProfile,
  watchSilence,
} from '@cairn/models'
import { writeDeltas } from './deltas.ts'
import { llmDelta, llmHeartbeat, llmRequest, llmResponse, llmThinking } from '../events.ts'
import type { Reminder } from './next-step.ts'
import { composeMessages } from './prompt.ts'
import { loadResultImages } from './result-images.ts'
import { workspaceMask } from '../tools/workspace-mask.ts'

export type IterationCall = {
  turn_id: string
  iteration_index: number
  model: string
  tools: readonly ToolSchema[]
  reminders: readonly Reminder[]
  before: readonly EventDraft[]
}

/**
 * Calls until an answer is in the log, or until a command arrived that takes priority. Returns the failure
 * that remained after all retries; null: success.
 */
export async function callModel(turn: Turn, call: IterationCall): Promise<ModelError | null> {
  const { log, lease, clock, limits } = turn
  let before = call.before
  let lessons = 0
  let learned: ModelError['learned'] = []
  for (let attempt = 0, retries = 0; ; attempt++) {
    // The crashed runner, or the previous attempt, may have shown chunks that no response will follow.
    const reset =
      log.position().turn.requested && (await hasDeltas(turn))
        ? [llmDelta({ reset: true, turn_id: call.turn_id, iteration_index: call.iteration_index })]
        : []
    const request = llmRequest({
      model: call.model,
      turn_id: call.turn_id,
      iteration_index: call.iteration_index,
      attempt,
      ...(call.tools.length === 0 ? { tools_disabled: true } : {}),
      ...serverNews(turn, call, learned),
    })
    if (!(await begin(turn, [...before, request, ...reset], call.model))) return null
    before = []
    learned = []
    try {
      await answerOnce(turn, call)
      return null
    } catch (error) {
      lease.signal.throwIfAborted()
      if (!(error instanceof ModelError)) throw error
      if (error.learned.length > 0 && lessons++ < MAX_LESSONS) {
        learned = error.learned
        turn.report('info', 'learned from a refusal of the model server', { error: error.message })
        continue
      }
      if (!error.retryable || retries >= limits.llm_retries) return error
      turn.report('warn', 'model call failed, will retry', {
        attempt,
        category: error.category,
        error: error.message,
      })
      const waitMs = backoffMs(MODEL_BACKOFF, retries++, turn.random(), error.retryAfterMs)
      await sleep(clock, waitMs, lease.signal)
    }
  }
}

/**
 * What the log states about the model server: facts that the last refusal showed, and the tools that it does
 * not accept, at the start of a turn and after such a refusal.
 */
function serverNews(
  turn: Turn,
  { model, tools, iteration_index }: IterationCall,
  learned: ModelError['learned'],
): Pick<EventData<'llm.request'>, 'learned' | 'omitted_tools'> {
  if (iteration_index > 0 && learned.length === 0) return {}
  const profile = profileOf(turn, model)
  const omitted = profile === null ? [] : acceptableTools(tools, profile).omitted
  return {
    ...(learned.length === 0
      ? {}
      : {
          learned: learned.map(({ fact, value, reason }) => ({
            fact,
            value: Array.isArray(value) ? [...value] : value,
            reason: workspaceMask(turn.workspace).mask(reason),
          })),
        }),
    ...(omitted.length > 0 ? { omitted_tools: [...omitted] } : {}),
  }
}

/** Null: the model cannot be resolved, which the call itself reports after its llm.request. */
function profileOf({ models }: Turn, model: string): ServerProfile | null {
  try {
    return models.resolve(model).serverProfile()
  } catch (error) {
    if (error instanceof ModelError) return null
    throw error
  }
}

/**
 * Commits the start of an attempt; false if a command, or a skill to expand, came first and must be handled
 * first.
 */
async function begin(turn: Turn, events: readonly EventDraft[], model: string): Promise<boolean> {
  const { log } = turn
  for (;;) {
    try {
      await log.append(events, {
        ...(log.session().model === model ? {} : { set: { model } }),
        expect_no_work_after: log.position().last_id,
      })
      return true
    } catch (error) {
      if (!(error instanceof CommitRefused) || error.refusal !== 'new_work') throw error
      await log.catchUp()
      if (turn.goesFirst(log.position())) return false
    }
  }
}

const hasDeltas = async ({ store, log, lease }: Turn): Promise<boolean> => {
  const asked = log.position().request
  return asked !== null && (await store.events.read(lease.session_id, asked.id, 1, ['llm.delta'])).length > 0
}

type IterationRef = { turn_id: string; iteration_index: number }

/**
 * A runner that was suspended after its llm.request may find that another one has answered it: the lease is
 * lost although no notification arrived. What it would send contains calls without results.
 */
function stillOurs({ log, lease }: Turn): void {
  const { answering, open } = log.position().conversation
  if (answering && open.length === 0) return
  lease.end(new LeaseLost('another runner has answered the llm.request of this one'))
  lease.signal.throwIfAborted()
}

async function answerOnce(turn: Turn, call: IterationCall): Promise<void> {
  const { log, clock, setup } = turn
  stillOurs(turn)
  const place = { turn_id: call.turn_id, iteration_index: call.iteration_index }
  const served = turn.models.resolve(call.model)
  const { conversation } = log.position()
  const request: ModelRequest = {
    model: served.model,
    messages: composeMessages(
      setup.system,
      conversation,
      call.reminders,
      served.serverProfile().vision ? await loadResultImages(turn.workspace, conversation) : new Map(),
    ),
    tools: call.tools,
    ...(setup.temperature === undefined ? {} : { temperature: setup.temperature }),
    ...(setup.max_tokens === undefined ? {} : { max_tokens: setup.max_tokens }),
  }
  const startedAt = clock.monotonic()
  const { answer, firstTokenAt, rest } = await stream(turn, served, place, (onChunk, signal) =>
    served.provider.call(request, onChunk, signal),
  )
  for (const { id, function: made } of answer.message.tool_calls ?? []) turn.written.set(id, made.arguments)
  await log.append([
    ...rest,
    ...(answer.reasoning === '' ? [] : [llmThinking({ reasoning: answer.reasoning, ...place })]),
    llmResponse({
      message: toMessage(answer, call.tools.length > 0),
      model: served.name,
      ...countTokens(answer),
      finish_reason: answer.finish_reason,
      context_window: served.contextWindow,
      ...costOf(answer.usage, served.name, served.rates),
      ...place,
      latency_ms: Math.round(clock.monotonic() - startedAt),
      ...(firstTokenAt === null ? {} : { first_token_ms: Math.round(firstTokenAt - startedAt) }),
    }),
  ])
}

/** If the model calls tools that it was not offered, only its text counts. */
function toMessage({ message }: ModelAnswer, hasTools: boolean): ModelAnswer['message'] {
  const { tool_calls, reasoning_details, content } = message
  return {
    role: 'assistant',
    content,
    ...(hasTools && tool_calls?.length ? { tool_calls } : {}),
    ...(reasoning_details ? { reasoning_details } : {}),
  }
}

const countTokens = ({
  usage: { input_tokens, output_tokens, reasoning_tokens, cache_read_tokens },
}: ModelAnswer) => ({ input_tokens, output_tokens, reasoning_tokens, cache_read_tokens })

type Streamed = {
  answer: ModelAnswer
  firstTokenAt: number | null
  /** Chunks not in the log yet. */ rest: EventDraft[]
}

/**
 * Runs one call with everything that watches it: chunks to the log, heartbeats, the silence timeout, the loss
 * of the lease.
 */
async function stream(
  turn: Turn,
  served: ResolvedModel,
  place: IterationRef,
  run: (onChunk: (chunk: ModelChunk) => void, signal: AbortSignal) => Promise<ModelAnswer>,
): Promise<Streamed> {
  const { log, clock, limits, lease } = turn
  const cut = new AbortController()
  const fail = (error: unknown): void => cut.abort(error)
  const deltas = writeDeltas({
    place,
    coalesceMs: limits.delta_coalesce_ms,
    clock,
    streamRedactor: turn.streamRedactor,
    emit: log.emit,
    onFailure: fail,
  })
  const staleMs = 1000 * (served.reasoning ? limits.llm_stale_reasoning_s : limits.llm_stale_s)
  let beats: Promise<void> = Promise.resolve()
  const watch = watchSilence({
    clock,
    heartbeatMs: limits.llm_heartbeat_s * 1000,
    staleMs,
    onStale: fail,
    onHeartbeat: silentMs => {
      beats = beats
        .then(() =>
          log.emit([llmHeartbeat({ silent_for_seconds: silentMs / 1000, ...place })], { can_wait: true }),
        )
        .catch(fail)
    },
  })
  const stopClock = startCallTimeout(clock, limits, fail)
  let firstTokenAt: number | null = null
  const onChunk = (chunk: ModelChunk): void => {
    if (chunk.type === 'alive') {
      watch.alive()
      return
    }
    firstTokenAt ??= clock.monotonic()
    watch.shown()
    deltas.push(chunk.type === 'text' ? 'content' : 'reasoning', chunk.text)
  }
  const signal = AbortSignal.any([lease.signal, cut.signal])
  try {
    const answer = await run(onChunk, signal)
    signal.throwIfAborted()
    return { answer, firstTokenAt, rest: await deltas.finish() }
  } catch (thrown) {
    // The reason of the watcher or the log is more specific than the abort that it caused.
    const error = cut.signal.aborted ? asError(cut.signal.reason) : thrown
    // No other attempt will repeat it, so keep everything received so far.
    if (error instanceof ModelError && !error.retryable && !lease.signal.aborted) {
      const rest = await deltas.finish()
      if (rest.length > 0) await log.emit(rest)
    }
    throw error
  } finally {
    stopClock()
    watch.stop()
    await Promise.allSettled([deltas.finish(), beats])
  }
}
