/**
 * Coalesces a coding agent's output into code.run_progress, at most two per second, however much it writes.
 * The texts joined in order are the agent's text; tool calls and plans are separate lines. Thoughts are
 * omitted.
 *
 * The redactor sees one event at a time, so text is held back while its end could be the start of a secret.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { StreamRedactor } from '@cairn/log'
import { clip, type EventData } from '@cairn/protocol'
import type { Clock } from '@cairn/models/clock'

export type ProgressChunk = Required<Pick<EventData<'code.run_progress'>, 'kind' | 'chunk'>>
type Kind = NonNullable<ProgressChunk['kind']>

/** Delay from the first text of a piece to its event. */
const EVERY_MS = 500
/** Maximum bytes of a run that are recorded in full; after that, only titles of calls. */
const MAX_BYTES = 2 ** 20
const TITLE_CHARS = 200
const MAX_CHUNK_BYTES = 64 * 1024
const MAX_ANSWER_CHARS = 32_000

export type Progress = {
  take(update: SessionUpdate): void
  /** Adds a line of the harness. */
  note(line: string): void
  /** Title of the last tool call; null: none. */
  lastTool(): string | null
  /** The answer: the agent's text since its last tool call. */
  finalMessage(): string
  /** Waits for pending writes and returns the rest for the final commit. */
  finish(): Promise<ProgressChunk[]>
}

export type ProgressOptions = {
  clock: Clock
  streamRedactor: () => StreamRedactor
  write: (chunks: readonly ProgressChunk[]) => Promise<void>
  onFailure: (thrown: unknown) => void
}

const KINDS = ['tool', 'text', 'plan'] as const
const MAX_CHUNKS = 3

/**
 * Keeps the order while there are few pieces; merges many into one of each kind, so that an agent cannot
 * outrun the writer.
 */
function fewer(chunks: readonly ProgressChunk[]): ProgressChunk[] {
  if (chunks.length <= MAX_CHUNKS) return [...chunks]
  return KINDS.flatMap(kind => {
    const texts = chunks.filter(piece => piece.kind === kind).map(({ chunk }) => chunk)
    if (texts.length === 0) return []
    return [{ kind, chunk: kind === 'plan' ? texts.at(-1)! : texts.join(kind === 'tool' ? '\n' : '') }]
  })
}

type ProgressLine = { kind: 'plan'; text: string } | { kind: 'tool'; title: string; text: string | null }

/** The line for an update; null if it is not worth one. `titles` holds the titles of earlier calls. */
function lineOf(update: SessionUpdate, titles: Map<string, string>): ProgressLine | null {
  switch (update.sessionUpdate) {
    case 'plan':
      return {
        kind: 'plan',
        text: update.entries.map(entry => `[${entry.status}] ${entry.content}`).join('\n'),
      }
    case 'tool_call':
    case 'tool_call_update': {
      const given = update.title ?? null
      const title = given === null ? titles.get(update.toolCallId) : clip(given, TITLE_CHARS)
      if (title === undefined) return null
      titles.set(update.toolCallId, title)
      const status = update.status ?? (update.sessionUpdate === 'tool_call' ? 'pending' : null)
      return { kind: 'tool', title, text: status === null ? null : `${title}: ${status}` }
    }
    default:
      return null
  }
}

export function createProgress({ clock, streamRedactor, write, onFailure }: ProgressOptions): Progress {
  const held = streamRedactor()
  let chunks: ProgressChunk[] = []
  let cancelTimer: (() => void) | null = null
  let writing: Promise<void> = Promise.resolve()
  let total = 0
  let answer = ''
  let failed = false
  const titles = new Map<string, string>()
  let last: string | null = null

  /** Consecutive chunks of the same kind form one piece. */
  function add(kind: Kind, chunk: string): void {
    if (chunk === '' || (kind === 'text' && total >= MAX_BYTES)) return
    total += chunk.length
    const before = chunks.at(-1)
    const isText = kind === 'text' && before?.kind === 'text' && before.chunk.length < MAX_CHUNK_BYTES
    if (isText) chunks[chunks.length - 1] = { kind, chunk: before.chunk + chunk }
    else if (kind !== 'text' && before?.kind === kind && kind === 'tool')
      chunks[chunks.length - 1] = { kind, chunk: `${before.chunk}\n${chunk}` }
    else chunks.push({ kind, chunk })
    if (cancelTimer === null && !failed) cancelTimer = clock.after(EVERY_MS, flush)
  }

  function flush(): void {
    cancelTimer = null
    const ready = fewer(chunks)
    chunks = []
    if (ready.length === 0 || failed) return
    // The pause is proportional to the number of events.
    cancelTimer = clock.after(ready.length * EVERY_MS, flush)
    writing = writing
      .then(() => write(ready))
      .catch((error: unknown) => {
        failed = true
        onFailure(error)
      })
  }

  const line = (kind: Kind, text: string): void => {
    // Earlier text of the agent comes first.
    add('text', held.rest())
    add(kind, text)
  }

  return {
    take(update) {
      if (update.sessionUpdate === 'agent_message_chunk') {
        if (update.content.type !== 'text') return
        answer = clip(answer + update.content.text, MAX_ANSWER_CHARS)
        return add('text', held.push(update.content.text))
      }
      const entry = lineOf(update, titles)
      if (entry === null) return
      if (update.sessionUpdate === 'tool_call') answer = ''
      if (entry.kind === 'tool') last = entry.title
      if (entry.text !== null) line(entry.kind, entry.text)
    },
    note: text => line('tool', text),
    lastTool: () => last,
    finalMessage: () => answer,
    async finish() {
      add('text', held.rest())
      cancelTimer?.()
      await writing
      const rest = fewer(chunks)
      chunks = []
      return rest
    },
  }
}
