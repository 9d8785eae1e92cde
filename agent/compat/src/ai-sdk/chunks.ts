/**
 * Changes as chunks of the UI message stream of the Vercel AI SDK, version 7: what `DefaultChatTransport`
 * reads and `useChat` shows.
 */
import type { EventId } from '@cairn/protocol'
import type { Change, ChangeKind, End, Said, StillOpen } from '../changes/change.ts'
import { errorOf, jsonOf } from '../request/content.ts'
import { compatOrigin } from '../request/origin.ts'

export type Chunk = { type: string } & Record<string, unknown>

export type ChunkWriter = {
  /** The chunks of a change. `ended` gives none: what follows it may be of the same message. */
  take(change: Change): Chunk[]
  /** The last chunks of a message that is at rest. */
  finish(end: End, open: StillOpen): Chunk[]
}

const assistantId = (exchange: EventId): string => `a${exchange}`

/** The client's own id of a message, or one derived from its event. */
export const userId = ({ id, metadata }: Said): string => compatOrigin(metadata).message_id ?? `u${id}`

/** Parts of a message of a person. */
export function saidParts({ content, images, attachments }: Said, sessionId: string): Chunk[] {
  return [
    ...(content === '' ? [] : [{ type: 'text', text: content }]),
    ...images.map(({ data, mime_type }) => ({
      type: 'file',
      mediaType: mime_type,
      url: `data:${mime_type};base64,${data}`,
    })),
    ...attachments.map(({ filename, mime_type, path }) => ({
      type: 'file',
      mediaType: mime_type ?? 'application/octet-stream',
      filename,
      url: `/v1/sessions/${sessionId}/workspace/file?path=${encodeURIComponent(path)}`,
    })),
  ]
}

type Of<K extends ChangeKind> = Extract<Change, { kind: K }>

function textChunks(change: Of<'text' | 'reasoning'>): Chunk[] {
  const id = `${change.kind === 'text' ? 't' : 'r'}${change.part}`
  const type = `${change.kind}-${change.phase}`
  return [change.phase === 'delta' ? { type, id, delta: change.text } : { type, id }]
}

/** The chunks of each kind of change; the writer itself makes those of steps. */
const CHUNKS: { [K in ChangeKind]: (change: Of<K>, sessionId: string) => Chunk[] } = {
  begun: ({ message: { id } }, session_id) => [
    { type: 'start', messageId: assistantId(id), messageMetadata: { session_id, after: id } },
  ],
  steered: ({ message }, sessionId) => [
    { type: 'steering-message', id: userId(message), parts: saidParts(message, sessionId) },
  ],
  step: () => [],
  reset: () => [],
  ended: () => [],
  text: textChunks,
  reasoning: textChunks,
  call: ({ call, name, input }) => [
    {
      type: 'tool-input-available',
      toolCallId: call,
      toolName: name,
      input,
      dynamic: true,
      providerExecuted: true,
    },
  ],
  gate: ({ gate, call, reason, shown_hash, redactions }) => [
    {
      type: 'tool-approval-request',
      approvalId: `apr_${gate}`,
      toolCallId: call,
      reason,
      approvalDescriptor: { shown_hash, redactions },
    },
  ],
  decided: ({ gate, call, approved }) => [
    { type: 'tool-approval-response', approvalId: `apr_${gate}`, approved },
    ...(approved ? [] : [{ type: 'tool-output-denied', toolCallId: call }]),
  ],
  result: ({ call, content, failed }) => [
    failed
      ? { type: 'tool-output-error', toolCallId: call, errorText: errorOf(content) }
      : { type: 'tool-output-available', toolCallId: call, output: jsonOf(content) },
  ],
  asked: ({ call, question, action }) => [
    {
      type: 'tool-input-available',
      toolCallId: call,
      toolName: question === null ? 'request_user_action' : 'ask_user_question',
      input: question ?? action,
      dynamic: true,
    },
  ],
  // After a cancelled question, an output would make the helpers of the SDK send the message again.
  answered: ({ call, output }) => [
    'cancelled' in output
      ? { type: 'tool-output-denied', toolCallId: call }
      : { type: 'tool-output-available', toolCallId: call, output },
  ],
  child: ({ worker, state, text }) => [
    { type: 'data-cairn-worker', id: worker, data: { worker, state, text } },
  ],
  note: noteChunks,
  usage: ({ total }) => [{ type: 'message-metadata', messageMetadata: { usage: total } }],
}

function noteChunks(note: Of<'note'>): Chunk[] {
  switch (note.topic) {
    case 'plan':
      return [{ type: 'data-cairn-plan', id: 'plan', data: { todos: note.todos } }]
    case 'artifact': {
      const { artifact_id, name, artifact_kind, version } = note
      return [
        {
          type: 'data-cairn-artifact',
          id: artifact_id,
          data: { artifact_id, name, kind: artifact_kind, version },
        },
      ]
    }
    default:
      return []
  }
}

export function createChunkWriter(sessionId: string): ChunkWriter {
  /** Chunks of the current step, which are sent again after a reset; null: no step is open. */
  let step: Chunk[] | null = null
  const isOf = ({ id }: Chunk, part: EventId): boolean => id === `t${part}` || id === `r${part}`

  return {
    take(change) {
      if (change.kind === 'step') {
        const ended: Chunk[] = step === null ? [] : [{ type: 'finish-step' }]
        step = []
        return [...ended, { type: 'start-step' }]
      }
      if (change.kind === 'reset') {
        step = (step ?? []).filter(chunk => !isOf(chunk, change.part))
        return [{ type: 'reset-step' }, ...step]
      }
      const chunks = (CHUNKS[change.kind] as (change: Change, sessionId: string) => Chunk[])(
        change,
        sessionId,
      )
      step?.push(...chunks)
      return chunks
    },
    finish: (end, open) => [
      ...(step === null ? [] : [{ type: 'finish-step' }]),
      // The client shows what came since its last change only with another one.
      { type: 'message-metadata', messageMetadata: { session_id: sessionId } },
      ...lastChunks(end, open),
    ],
  }
}

/** The helpers of the SDK send nothing by themselves after a message that was interrupted. */
const INTERRUPTED: Chunk = { type: 'finish', finishReason: 'interrupted' }

function lastChunks(end: End, { approvals, asks }: StillOpen): Chunk[] {
  switch (end.reason) {
    case 'failed':
      return [
        { type: 'error', errorText: end.error },
        { type: 'finish', finishReason: 'error' },
      ]
    case 'stopped':
      return [{ type: 'abort', reason: 'stopped' }, INTERRUPTED]
    case 'budget_exhausted':
    case 'tool_loop':
      return [{ type: 'finish', finishReason: 'length' }]
    case 'paused':
      return [INTERRUPTED]
    default:
      return [{ type: 'finish', finishReason: approvals.length + asks.length > 0 ? 'tool-calls' : 'stop' }]
  }
}
