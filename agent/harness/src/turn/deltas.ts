/**
 * Coalesces the chunks of an answer into llm.delta events (contract 2): one commit every `delta_coalesce_ms`
 * or 1 KiB, and never two at once, so a slow disk makes larger chunks and not a queue. The first is written
 * immediately, because a person is looking at an empty answer; the others may wait for starting turns. A
 * possible start of a secret is held back until the text after it arrives: the redactor sees one chunk at a
 * time and would recognize neither half.
 */
import type { StreamRedactor } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'
import { llmDelta } from '../events.ts'

const FLUSH_BYTES = 1024
type IterationRef = { turn_id: string; iteration_index: number }
type DeltaChunk = { kind: 'content' | 'reasoning'; text: string }

export type DeltaWriter = {
  push(kind: DeltaChunk['kind'], text: string): void
  /** Whether any chunk of this call has been written to the log. */
  shown(): boolean
  /**
   * Waits for the running commit and returns the rest, for the commit of the response. Rejects if a commit
   * failed.
   */
  finish(): Promise<EventDraft[]>
}

export type DeltaOptions = {
  place: IterationRef
  coalesceMs: number
  clock: Clock
  /** See createStreamRedactor. */ streamRedactor: () => StreamRedactor
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
  /** The held-back end of each kind of text. */
  const held = { content: streamRedactor(), reasoning: streamRedactor() }
  let size = 0
  let cancelTimer: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
  let busy = false
  let shown = false
  let failure: { error: unknown } | null = null
  let finished = false

  /** The text that may be written; at the end of the answer, all of it. */
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
