/** Limits a body: beyond the maximum the stream errors and reading stops. */
export function limitBody(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  message = `the answer has more than ${maxBytes} bytes`,
): ReadableStream<Uint8Array> {
  let taken = 0
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        taken += bytes.length
        if (taken > maxBytes) controller.error(new Error(message))
        else controller.enqueue(bytes)
      },
    }),
  )
}

/** Applies `limitBody` to a response, before it is read as text or JSON. */
export function limitResponse(response: Response, maxBytes: number): Response {
  if (response.body === null) return response
  const { status, statusText, headers } = response
  return new Response(limitBody(response.body, maxBytes), { status, statusText, headers })
}
