/**
 * The output of a response, item by item, and the events of its stream: thoughts, text and calls in the order
 * in which the model writes them.
 */
import { randomUUID } from 'node:crypto'
import type { ChatDelta } from '../protocol.ts'

export type OutputItem =
  | {
      id: string
      type: 'message'
      role: 'assistant'
      status: ItemStatus
      content: { type: 'output_text'; text: string; annotations: []; logprobs: [] }[]
    }
  | {
      id: string
      type: 'reasoning'
      summary: []
      content: { type: 'reasoning_text'; text: string }[]
      status: ItemStatus
    }
  | {
      id: string
      type: 'function_call'
      call_id: string
      name: string
      arguments: string
      status: ItemStatus
    }
type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export type ResponseEvent = { type: string; [key: string]: unknown }

const idOf = (prefix: string) => `${prefix}_${randomUUID().replaceAll('-', '')}`

/** Takes a chat's deltas in order. `emit` receives every event. */
export function createOutput(emit: (event: ResponseEvent) => void) {
  const items: OutputItem[] = []
  let open: OutputItem | undefined
  let call = -1
  const place = () => ({ item_id: open?.id ?? '', output_index: items.length - 1 })

  function begin(item: OutputItem): void {
    close('completed')
    open = item
    items.push(item)
    emit({ type: 'response.output_item.added', output_index: items.length - 1, item: structuredClone(item) })
    const [part] = item.type === 'function_call' ? [] : item.content
    if (part) emit({ type: 'response.content_part.added', ...place(), content_index: 0, part: { ...part } })
  }

  function close(status: ItemStatus): void {
    if (!open) return
    open.status = status
    if (open.type === 'function_call')
      emit({
        type: 'response.function_call_arguments.done',
        ...place(),
        name: open.name,
        arguments: open.arguments,
      })
    else {
      const [part] = open.content
      const kind = open.type === 'message' ? 'output_text' : 'reasoning_text'
      const extra = open.type === 'message' ? { logprobs: [] } : {}
      emit({ type: `response.${kind}.done`, ...place(), content_index: 0, text: part?.text ?? '', ...extra })
      emit({ type: 'response.content_part.done', ...place(), content_index: 0, part })
    }
    emit({ type: 'response.output_item.done', output_index: items.length - 1, item: open })
    open = undefined
  }

  function write(type: 'message' | 'reasoning', text: string): void {
    if (open?.type !== type)
      begin(
        type === 'message'
          ? {
              id: idOf('msg'),
              type,
              role: 'assistant',
              status: 'in_progress',
              content: [{ type: 'output_text', text: '', annotations: [], logprobs: [] }],
            }
          : {
              id: idOf('rs'),
              type,
              summary: [],
              status: 'in_progress',
              content: [{ type: 'reasoning_text', text: '' }],
            },
      )
    const [part] = open?.type === type ? open.content : []
    if (part) part.text += text
    const kind = type === 'message' ? 'output_text' : 'reasoning_text'
    const extra = type === 'message' ? { logprobs: [] } : {}
    emit({ type: `response.${kind}.delta`, ...place(), content_index: 0, delta: text, ...extra })
  }

  return {
    items,
    add({ content, reasoning_content: thought, tool_calls: calls = [] }: ChatDelta): void {
      if (thought) write('reasoning', thought)
      if (content) write('message', content)
      for (const {
        index,
        id,
        function: { name, arguments: text = '' },
      } of calls) {
        if (index !== call) {
          call = index
          begin({
            id: idOf('fc'),
            type: 'function_call',
            call_id: id ?? idOf('call'),
            name: name ?? '',
            arguments: '',
            status: 'in_progress',
          })
        }
        if (open?.type !== 'function_call' || text === '') continue
        open.arguments += text
        emit({ type: 'response.function_call_arguments.delta', ...place(), delta: text })
      }
    },
    /** Ends the output. The last item is complete unless the answer was cut. */
    end: (isCut: boolean) => close(isCut ? 'incomplete' : 'completed'),
  }
}
