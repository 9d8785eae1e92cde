/**
 * The loop that keeps the engine busy: plan, run, notify. One step is in flight at a time. Sequences and
 * adapters added or removed during a step take effect before the next one.
 */
import { setImmediate } from 'node:timers/promises'
import { createAdapterSlots, loadedOf } from './adapter-slots.ts'
import type { AdapterStacks, LoadedAdapter } from './adapters.ts'
import { asError, EndedError, unloadedError } from './ended.ts'
import { createLatencies, type Latencies } from './latencies.ts'
import { createPrefillFirst } from './prefill-first.ts'
import type { KvBlocks } from './kv-blocks.ts'
import type { Form } from '../grammar/forms.ts'
import type { Scheduler } from './scheduler.ts'
import { advanceForm, type EndReason, type Listener, type Sampling, type Sequence } from './sequence.ts'
import type { Stepper } from './step.ts'

type GeneratorRequest = {
  ids: readonly number[]
  adapter: LoadedAdapter | undefined
  sampling: Sampling
  /** The required form of the answer. Undefined allows any text. */
  form: Form | undefined
  listener: Listener
  signal: AbortSignal
}

type GeneratorCounts = {
  promptTokens: number
  cachedTokens: number
  generatedTokens: number
  steps: number
  ended: Record<EndReason, number>
}

export type Generator = {
  /** Starts a sequence. Its listener receives tokens and the end. */
  submit(request: GeneratorRequest): void
  /** Makes an adapter available to sequences. */
  load(name: string, path: string, adapter: Pick<LoadedAdapter, 'stored' | 'own'>): Promise<LoadedAdapter>
  /** Ends the sequences of an adapter and frees its slot. */
  unload(adapter: LoadedAdapter): Promise<void>
  readonly counts: GeneratorCounts
  readonly latencies: Latencies
  /** Ends every sequence and resolves when no step is in flight. */
  close(): Promise<void>
}

type GeneratorParts = {
  stepper: Stepper
  scheduler: Scheduler
  blocks: KvBlocks
  stacks: AdapterStacks | undefined
}

export function createGenerator({ stepper, scheduler, blocks, stacks }: GeneratorParts): Generator {
  const counts: GeneratorCounts = {
    promptTokens: 0,
    cachedTokens: 0,
    generatedTokens: 0,
    steps: 0,
    ended: { stop: 0, length: 0, abort: 0 },
  }
  let running: Promise<void> | undefined
  let isClosed = false
  const prefillFirst = createPrefillFirst()
  let nextAdapter = 0
  const latencies = createLatencies()
  const slots = stacks && createAdapterSlots(stacks, stepper.idle)
  /** Sequences whose adapter has no slot yet. */
  const unplaced = new Set<Sequence>()
  const all = () => [...scheduler.running, ...scheduler.waiting, ...unplaced]
  /** Notifications of the last step that were not sent to listeners yet, in order. */
  let unsent: (() => void)[] = []

  function end(sequence: Sequence, reason: EndReason, extra: { token?: number; error?: Error } = {}): void {
    if (sequence.isEnded) return
    sequence.isEnded = true
    counts.ended[reason]++
    sequence.clock.end()
    const wasPlaced = !unplaced.delete(sequence)
    if (sequence.adapter && wasPlaced) slots?.release(sequence.adapter)
    sequence.listener.onEnd({ reason, ...extra, cachedTokens: sequence.cachedTokens ?? 0 })
  }

  /** Sequences that ended while a step was in flight keep their blocks until it is over. */
  function sweep(): void {
    for (const sequence of [...scheduler.running, ...scheduler.waiting])
      if (sequence.isEnded || sequence.isComplete) scheduler.remove(sequence)
  }

  /**
   * Records a token, which is all that the next step needs. The listener processes it while that step runs.
   */
  function take(sequence: Sequence, report: Parameters<Listener['onToken']>[0]): void {
    const { sampling, listener, promptLength } = sequence
    const { token } = report
    counts.generatedTokens++
    sequence.clock.token()
    sequence.ids.push(token)
    const wrong = advanceForm(sequence, token)
    if (wrong) {
      sequence.isComplete = true
      return void unsent.push(() => end(sequence, 'abort', { error: wrong }))
    }
    const generated = sequence.ids.length - promptLength
    const isEndToken = generated > sampling.minTokens && sampling.endTokens.includes(token)
    sequence.isComplete = isEndToken || generated >= sampling.maxTokens
    unsent.push(() => {
      if (sequence.isEnded) return
      if (isEndToken) end(sequence, 'stop', { token })
      else if (listener.onToken(report)) end(sequence, 'stop')
      else if (sequence.isComplete) end(sequence, 'length')
    })
  }

  function notify(): void {
    const news = unsent
    unsent = []
    for (const one of news) one()
  }

  async function runSteps(): Promise<void> {
    for (;;) {
      sweep()
      const plan = scheduler.plan()
      const chunks = prefillFirst.choose(plan)
      const start = performance.now()
      stepper.reach(blocks.reached)
      const step = chunks.length > 0 ? stepper.run(chunks) : undefined
      const hadNews = unsent.length > 0
      notify()
      if (!step) {
        // A listener may have submitted more requests.
        if (hadNews) continue
        return
      }
      const results = await step
      counts.steps++
      const isAlone = chunks !== plan
      prefillFirst.record(chunks, isAlone, performance.now() - start)
      for (const chunk of chunks) scheduler.advance(chunk)
      for (const { sequence, prompt, next } of results) {
        if (sequence.isEnded) continue
        sequence.prompt.push(...prompt)
        if (!next) continue
        if (sequence.ids.length === sequence.promptLength) {
          counts.promptTokens += sequence.promptLength
          counts.cachedTokens += sequence.cachedTokens ?? 0
          if (sequence.sampling.promptLogprobs)
            unsent.push(() => sequence.listener.onPrompt?.(sequence.prompt))
        }
        if (sequence.sampling.maxTokens > 0) {
          take(sequence, next)
          continue
        }
        sequence.isComplete = true
        unsent.push(() => end(sequence, 'length'))
      }
      if (!isAlone) continue
      // Answer requests whose prompts ran first before the step with all sequences occupies the processors.
      notify()
      await setImmediate()
    }
  }

  function wake(): void {
    if (running || isClosed) return
    running = runSteps()
      .catch(async (error: unknown) => {
        await stepper.idle()
        notify()
        // After a failed step the cache of its sequences is undefined, so none of it may be reused.
        const cause = asError(error)
        for (const sequence of [...scheduler.running, ...scheduler.waiting])
          end(sequence, 'abort', { error: cause })
        sweep()
      })
      .finally(() => {
        running = undefined
        if (scheduler.waiting.length > 0) wake()
      })
  }

  /** Passes a sequence to the scheduler as soon as its adapter has a slot. */
  function start(sequence: Sequence): void {
    const { adapter } = sequence
    const placed = adapter && slots?.acquire(adapter)
    const add = () => {
      // The sequence ended while it waited, so it must not run.
      if (!unplaced.delete(sequence)) {
        if (adapter) slots?.release(adapter)
        return
      }
      scheduler.add(sequence)
      wake()
    }
    if (!placed) return add()
    placed.then(add, (error: unknown) => end(sequence, 'abort', { error: asError(error) }))
  }

  return {
    counts,
    latencies,
    submit({ ids, adapter, sampling, form, listener, signal }) {
      const sequence: Sequence = {
        promptLength: ids.length,
        adapter,
        sampling,
        listener,
        form: form?.begin(),
        ids: [...ids],
        computed: 0,
        blocks: [],
        prefixes: [],
        cachedTokens: undefined,
        prompt: [],
        isComplete: false,
        isEnded: false,
        clock: latencies.begin(),
      }
      unplaced.add(sequence)
      if (isClosed) return end(sequence, 'abort', { error: new EndedError('the server is shutting down') })
      if (signal.aborted) return end(sequence, 'abort')
      const onAbort = () => end(sequence, 'abort')
      signal.addEventListener('abort', onAbort, { once: true })
      start(sequence)
    },
    async load(name, path, adapter) {
      const loaded = loadedOf(nextAdapter++, name, path, adapter)
      await slots?.fillFreeSlot(loaded)
      return loaded
    },
    async unload(adapter) {
      for (const sequence of all()) {
        if (sequence.adapter === adapter) end(sequence, 'abort', { error: unloadedError(adapter.name) })
      }
      blocks.forget(adapter.id)
      await slots?.drop(adapter)
    },
    async close() {
      isClosed = true
      for (const sequence of all())
        end(sequence, 'abort', { error: new EndedError('the server is shutting down') })
      await running
    },
  }
}
