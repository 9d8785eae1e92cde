/** The AI SDK's own client, unchanged, with a connection that a test may cut. */
import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'

export type { UIMessage } from 'ai'
export type ChatClient = Chat<UIMessage>

export type ChatOptions = {
  url: string
  token: string
  id: string
  messages?: UIMessage[]
  /** Absent: the ordinary fetch. */
  fetch?: typeof fetch
  onError?: (error: Error) => void
}

/** A chat as a page makes one: it sends by itself once approvals and questions are answered. */
export const openChat = ({ url, token, id, messages = [], fetch, onError }: ChatOptions): ChatClient =>
  new Chat({
    id,
    messages,
    sendAutomaticallyWhen: options =>
      lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
      lastAssistantMessageIsCompleteWithToolCalls(options),
    transport: new DefaultChatTransport({
      api: `${url}/compat/ai-sdk/chat`,
      headers: { authorization: `Bearer ${token}` },
      ...(fetch === undefined ? {} : { fetch }),
    }),
    onError: onError ?? (() => undefined),
  })

/**
 * A fetch whose response breaks after `nextCut` bytes (null: never): the server's socket closes, and the
 * reader gets an error; with `ends`, it gets the end of the body instead.
 */
export const cuttingFetch =
  (nextCut: () => number | null, through: typeof fetch = fetch, { ends = false } = {}): typeof fetch =>
  async (input, init) => {
    const response = await through(input, init)
    const cut = nextCut()
    if (cut === null || response.body === null) return response
    let left = cut
    const reader = response.body.getReader()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) return controller.close()
        if (value.length <= left) {
          left -= value.length
          return controller.enqueue(value)
        }
        if (left > 0) controller.enqueue(value.subarray(0, left))
        await reader.cancel()
        if (ends) controller.close()
        else controller.error(new TypeError('network error'))
      },
      cancel: reason => reader.cancel(reason),
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }

/** Messages as JSON has them, so that absent and undefined keys are equal. */
export const plain = (messages: readonly unknown[]): unknown => JSON.parse(JSON.stringify(messages))
