/**
 * Messages for the first render of a page, made from the same chunks that a stream sends. A client that read
 * the stream holds the same messages; a test compares them with those of the AI SDK's own reader.
 */
import type { Chunk } from './chunks.ts'

type Part = Record<string, unknown> & { type: string }
export type UiMessage = {
  id: string
  role: 'user' | 'assistant'
  metadata?: Record<string, unknown>
  parts: Part[]
}

export type MessageBuilder = { take(chunk: Chunk): void; message(): UiMessage }

/** The message so far, and its open texts by their id. */
type Draft = { message: UiMessage; texts: Map<unknown, Part> }

const stepStart = ({ parts }: UiMessage): number =>
  parts.findLastIndex(({ type }) => type === 'step-start') + 1
const findTool = ({ parts }: UiMessage, test: (part: Part) => boolean): Part | undefined =>
  parts.findLast(part => part.type === 'dynamic-tool' && test(part))

function addMetadata({ message }: Draft, { messageMetadata }: Chunk): void {
  message.metadata = { ...message.metadata, ...(messageMetadata as object) }
}

function begin({ message, texts }: Draft, part: Part, id: unknown): void {
  texts.set(id, part)
  message.parts.push(part)
}

function extend({ texts }: Draft, { id, delta }: Chunk): void {
  const part = texts.get(id)
  if (part !== undefined) part['text'] = `${String(part['text'])}${String(delta)}`
}

function close({ texts }: Draft, { id }: Chunk): void {
  setKeys(texts.get(id), { state: 'done' })
  texts.delete(id)
}

function setKeys(part: Part | undefined, keys: Record<string, unknown>): void {
  if (part !== undefined) Object.assign(part, keys)
}

const setTool = ({ message }: Draft, { toolCallId }: Chunk, keys: Record<string, unknown>): void =>
  setKeys(
    findTool(message, part => part['toolCallId'] === toolCallId),
    keys,
  )

const READERS: Record<string, (draft: Draft, chunk: Chunk) => void> = {
  start(draft, chunk) {
    draft.message.id = String(chunk['messageId'])
    addMetadata(draft, chunk)
  },
  'message-metadata': addMetadata,
  'start-step': ({ message }) => void message.parts.push({ type: 'step-start' }),
  'reset-step'(draft) {
    draft.texts.clear()
    draft.message.parts.splice(stepStart(draft.message))
  },
  'text-start': (draft, { id }) => begin(draft, { type: 'text', text: '', state: 'streaming' }, id),
  'reasoning-start': (draft, { id }) =>
    begin(draft, { type: 'reasoning', id, text: '', state: 'streaming' }, id),
  'text-delta': extend,
  'reasoning-delta': extend,
  'text-end': close,
  'reasoning-end': close,
  'tool-input-available'({ message: { parts }, message }, { type: _, dynamic: __, ...call }) {
    const again = parts
      .slice(stepStart(message))
      .find(part => part.type === 'dynamic-tool' && part['toolCallId'] === call['toolCallId'])
    const now = { ...call, state: 'input-available' }
    if (again === undefined) parts.push({ type: 'dynamic-tool', ...now })
    else Object.assign(again, now)
  },
  'tool-approval-request': (draft, chunk) =>
    setTool(draft, chunk, {
      state: 'approval-requested',
      approval: {
        id: chunk['approvalId'],
        descriptor: chunk['approvalDescriptor'],
        requestReason: chunk['reason'],
      },
    }),
  'tool-approval-response'({ message }, { approvalId: id, approved }) {
    const part = findTool(message, each => (each['approval'] as { id?: unknown } | undefined)?.id === id)
    const approval = { ...(part?.['approval'] as object | undefined), id, approved }
    setKeys(part, { state: 'approval-responded', approval })
  },
  'tool-output-denied': (draft, chunk) => setTool(draft, chunk, { state: 'output-denied' }),
  'tool-output-available': (draft, chunk) =>
    setTool(draft, chunk, { state: 'output-available', output: chunk['output'] }),
  'tool-output-error': (draft, chunk) =>
    setTool(draft, chunk, { state: 'output-error', errorText: chunk['errorText'] }),
  'steering-message': ({ message }, { id, parts: said }) =>
    void message.parts.push({ type: 'steering-message', id, parts: said }),
}

function readData({ message: { parts } }: Draft, chunk: Chunk): void {
  const known = parts.find(part => part.type === chunk.type && part['id'] === chunk['id'])
  if (known === undefined) parts.push({ ...chunk })
  else known['data'] = chunk['data']
}

export function createMessageBuilder(): MessageBuilder {
  const draft: Draft = { message: { id: '', role: 'assistant', parts: [] }, texts: new Map() }
  return {
    take(chunk) {
      if (chunk.type.startsWith('data-')) readData(draft, chunk)
      else READERS[chunk.type]?.(draft, chunk)
    },
    message: () => draft.message,
  }
}
