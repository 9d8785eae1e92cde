/** Frames as the body of a stream, made only as fast as the client reads. */

/**
 * `frames` must end when `stop` aborts: that happens when the client leaves. The pull-based stream holds one
 * frame at most.
 */
export function streamOf(
  frames: AsyncGenerator<string>,
  stop: AbortController,
  headers: Record<string, string> = {},
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await frames.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel() {
      stop.abort()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', ...headers } })
}
