/**
 * Coalesces the chunks of an answer into llm.delta events (contract 2): one commit every
 * `delta_coalesce_ms` or 1 KiB, and never two at once, so a slow disk makes bigger chunks and not a queue.
 * The first waits for nothing, for somebody looks at an empty answer; the others may wait for what begins a
 * turn. What may be the beginning of a secret waits for what follows it: the redactor sees one chunk at a
 * time and would know neither half.
 */
import type { HeldText } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import type { Clock } from '../clock.ts'
import { llmDelta } from '../turn-events.ts'

const FLUSH_BYTES = 1024
type IterationRef = { turn_id: string; iteration_index: number }
type DeltaChunk = { kind: 'content' | 'reasoning'; text: string }

export type DeltaWriter = {
  push(kind: DeltaChunk['kind'], text: string): void
  /** Whether any chunk of this call has been handed to the log. */
  shown(): boolean
  /**
   * Waits for the commit under way and returns what is left, for the commit of the response. Rejects if a
   * commit failed.
   */
  finish(): Promise<EventDraft[]>
}

export type DeltaOptions = {
  place: IterationRef
  coalesceMs: number
  clock: Clock
  /** See createHoldBack. */ streamRedactor: () => HeldText
  emit: (events: readonly EventDraft[], append?: { can_wait: true }) => Promise<void>
  onFailure: (error: unknown) => void
}

export function writeDeltas({
  place,
  coalesceMs,
  clock,
  streamRedactor,
  emit,
  onFailure,
}: DeltaOptions): DeltaWriter {
  let chunks: DeltaChunk[] = []
  /** The end of what each kind has said so far, held back. */
  const held = { content: streamRedactor(), reasoning: streamRedactor() }
  let size = 0
  let cancelTimer: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
  let busy = false
  let shown = false
  let failure: { error: unknown } | null = null
  let finished = false

  /** What may be shown; at the end of the answer, all of it. */
  function take(): EventDraft[] {
    cancelTimer?.()
    cancelTimer = null
    const ready = chunks.map(({ kind, text }) => ({ kind, text: held[kind].push(text) }))
    if (finished)
      for (const kind of ['reasoning', 'content'] as const) ready.push({ kind, text: held[kind].rest() })
    chunks = []
    size = 0
    return ready
      .filter(({ text }) => text !== '')
      .map(({ kind, text }) => llmDelta({ [kind]: text, ...place }))
  }

  function flush(): void {
    if (busy || finished || chunks.length === 0) return
    const drafts = take()
    if (drafts.length === 0) return
    busy = true
    writing = (shown ? emit(drafts, { can_wait: true }) : emit(drafts))
      .catch((error: unknown) => {
        failure = { error }
        onFailure(error)
      })
      .finally(() => {
        busy = false
        if (size >= FLUSH_BYTES) flush()
        else schedule()
      })
    shown = true
  }

  function schedule(): void {
    if (cancelTimer === null && chunks.length > 0 && !finished && failure === null)
      cancelTimer = clock.after(coalesceMs, () => {
        cancelTimer = null
        flush()
      })
  }

  return {
    push(kind, text) {
      if (text === '' || finished) return
      const last = chunks.at(-1)
      if (last?.kind === kind) last.text += text
      else chunks.push({ kind, text })
      size += text.length
      if (!shown || size >= FLUSH_BYTES) flush()
      schedule()
    },
    shown: () => shown,
    async finish() {
      finished = true
      await writing
      if (failure) throw failure.error
      return take()
    },
  }
}
