/** A model server reduced to its bytes: answers with the given pieces of a body, one network read each. */
import { readFileSync } from 'node:fs'
import { type ModelChunk, type ModelProvider, type ModelRequest, ModelError } from '../src/provider.ts'
import type { Fetch } from '../src/plain-fetch.ts'

/** Streams written after the documented protocols, one file per shape. */
export const wire = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(new URL(`wire/${name}.sse`, import.meta.url)))

export const withCrlf = (body: Uint8Array): Uint8Array =>
  new TextEncoder().encode(new TextDecoder().decode(body).replaceAll('\n', '\r\n'))

/** A fetch whose every call answers 200 with the pieces that `next` gives. */
export const piecewise =
  (next: () => readonly Uint8Array[], type = 'text/event-stream'): Fetch =>
  () => {
    const pieces = [...next()]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift()
        if (piece) controller.enqueue(piece)
        else controller.close()
      },
    })
    return Promise.resolve(new Response(body, { status: 200, headers: { 'content-type': type } }))
  }

/** A fetch that answers every call with one response, and keeps what was asked. */
export function replying(
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): { fetch: Fetch; sent: { url: string; headers: Headers; body: Record<string, unknown> }[] } {
  const sent: { url: string; headers: Headers; body: Record<string, unknown> }[] = []
  return {
    sent,
    fetch: (url, init) => {
      sent.push({
        url: String(url),
        headers: new Headers(init?.headers),
        body: JSON.parse(String(init?.body)) as Record<string, unknown>,
      })
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return Promise.resolve(
        new Response(text, {
          status,
          headers: {
            'content-type': typeof body === 'string' ? 'text/event-stream' : 'application/json',
            ...headers,
          },
        }),
      )
    },
  }
}

export const ask = (content: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt-x',
  messages: [{ role: 'user', content }],
  tools: [],
  ...more,
})

export type AnswerOutcome = { answer: unknown } | { category: string; retryable: boolean; message: string }

/** The answer or the failure, as data that can be compared; anything but a ModelError is thrown on. */
export async function outcome(
  provider: ModelProvider,
  request: ModelRequest,
  onChunk: (chunk: ModelChunk) => void = () => undefined,
): Promise<AnswerOutcome> {
  try {
    return { answer: await provider.call(request, onChunk, new AbortController().signal) }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    return { category: error.category, retryable: error.retryable, message: error.message }
  }
}
