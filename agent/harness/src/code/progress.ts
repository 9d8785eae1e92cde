/**
 * What a coding agent says, coalesced into code.run_progress: two a second at the most, however much it says.
 * Texts joined in order are the agent's text; calls of tools and plans are lines of their own. Thoughts are
 * left out.
 *
 * The redactor sees one event at a time, so text waits as long as its end could become a secret.
 */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import type { HeldText } from '@cairn/log'
import { clip, type EventData } from '@cairn/protocol'
import type { Clock } from '../clock.ts'

export type ProgressChunk = Required<Pick<EventData<'code.run_progress'>, 'kind' | 'chunk'>>
type Kind = NonNullable<ProgressChunk['kind']>

/** A piece is written so long after its first text came. */
const EVERY_MS = 500
/** So much of a run is written in full; of what comes then, the titles of calls. */
const MAX_BYTES = 2 ** 20
const TITLE_CHARS = 200
const MAX_CHUNK_BYTES = 64 * 1024
const MAX_ANSWER_CHARS = 32_000

export type Progress = {
  take(update: SessionUpdate): void
  /** A line of ours. */
  note(line: string): void
  /** The last tool's title; null: none was called. */
  lastTool(): string | null
  /** The answer: what the agent said since its last call of a tool. */
  finalMessage(): string
  /** Waits for what is being written, and returns the rest for the commit of the end. */
  finish(): Promise<ProgressChunk[]>
}

export type ProgressOptions = {
  clock: Clock
  streamRedactor: () => HeldText
  write: (chunks: readonly ProgressChunk[]) => Promise<void>
  onFailure: (thrown: unknown) => void
}

const KINDS = ['tool', 'text', 'plan'] as const
const MAX_CHUNKS = 3

/** In their order while they are few; of many one of each kind, which no agent can outrun. */
function fewer(chunks: readonly ProgressChunk[]): ProgressChunk[] {
  if (chunks.length <= MAX_CHUNKS) return [...chunks]
  return KINDS.flatMap(kind => {
    const texts = chunks.filter(piece => piece.kind === kind).map(({ chunk }) => chunk)
    if (texts.length === 0) return []
    return [{ kind, chunk: kind === 'plan' ? texts.at(-1)! : texts.join(kind === 'tool' ? '\n' : '') }]
  })
}

type ProgressLine = { kind: 'plan'; text: string } | { kind: 'tool'; title: string; text: string | null }

/** A line of its own, where the update is worth one; `titles` are those of the calls so far. */
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

  /** Of one kind in a row, one piece. */
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
    // So many events, so many half seconds of rest.
    cancelTimer = clock.after(ready.length * EVERY_MS, flush)
    writing = writing
      .then(() => write(ready))
      .catch((error: unknown) => {
        failed = true
        onFailure(error)
      })
  }

  const line = (kind: Kind, text: string): void => {
    // What the agent said before stands before it.
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
