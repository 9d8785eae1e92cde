/** The part of a running turn's answer that is shown, and when it is updated. Pure. */
import type { EventOf, EventType, SessionEvent } from '@cairn/protocol'

export type Streamed = {
  text: string
  /** The model call that the text belongs to; another call replaces the text. */
  call: string
  /** A progress line of a coding run, which changes rarely. */
  isUpdate: boolean
}
export const NOTHING_STREAMED: Streamed = { text: '', call: '', isUpdate: false }
type Fold<T extends EventType> = (streamed: Streamed, data: EventOf<T>['data']) => Streamed
/** The event types that it is folded from. Of a delta only `content`: reasoning is not shown. */
const FOLDS: { [T in EventType]?: Fold<T> } = {
  'code.run_channel_update': (_streamed, { text }) => ({ text, call: 'update', isUpdate: true }),
  'llm.delta': (streamed, { content, reset, turn_id, iteration_index }) => {
    const call = `${turn_id}/${iteration_index}`
    if (reset === true) return { text: '', call, isUpdate: false }
    if (content === undefined) return streamed
    return { text: streamed.call === call ? streamed.text + content : content, call, isUpdate: false }
  },
  // An answer is a message of its own; text before a tool call is progress.
  'llm.response': (streamed, { message: { tool_calls, content } }) =>
    tool_calls === undefined ? NOTHING_STREAMED : { ...streamed, text: content, call: 'said' },
}
export const STREAMED = Object.keys(FOLDS) as readonly EventType[]

export function foldStreamed(streamed: Streamed, event: SessionEvent): Streamed {
  const fold = FOLDS[event.type] as Fold<EventType> | undefined
  return fold === undefined ? streamed : fold(streamed, event.data as never)
}

export type Shown = { text: string; at: number } | null
export type Step = { do: 'rest' } | { do: 'wait'; ms: number } | { do: 'show'; text: string }

/** Shorter text is not shown as progress. */
const FIRST_CHARS = 24
const UPDATE_MS = 60_000

export function decideProgress(
  { text, isUpdate }: Streamed,
  shown: Shown,
  now: number,
  { everyMs, most }: { everyMs: number; most: number },
): Step {
  const wanted = clipped(text.trim(), most)
  if (wanted === '' || wanted === shown?.text) return { do: 'rest' }
  if (shown === null && wanted.length < FIRST_CHARS) return { do: 'rest' }
  const since = shown === null ? Infinity : now - shown.at
  const every = isUpdate ? Math.max(UPDATE_MS, everyMs) : everyMs
  return since < every ? { do: 'wait', ms: every - since } : { do: 'show', text: wanted }
}

function clipped(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text
    .slice(0, most - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`
}
