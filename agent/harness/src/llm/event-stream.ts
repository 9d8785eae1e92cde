/**
 * The body of an answer: Server-Sent Events, or one text. The SDKs' own readers hand each event through half
 * a dozen generators and a stream for the tap, which was a third of what a turn cost.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'

export type OnBytes = (bytes: Uint8Array) => void

/**
 * Reads until the end, or until `onEvent` says true: that was the last. Whatever throws ends the connection.
 * `onBytes` sees every piece before it is parsed, pings and comments included.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array> | null,
  onBytes: OnBytes,
  onEvent: (event: EventSourceMessage) => boolean,
): Promise<void> {
  let isOver = false
  const parser = createParser({
    onEvent(event) {
      if (!isOver) isOver = onEvent(event)
    },
  })
  await readText(body, onBytes, text => {
    parser.feed(text)
    return isOver
  })
  // Some servers leave out the blank line behind their last event.
  if (!isOver) parser.feed('\n\n')
}

/** The whole body as one text. */
export async function readWhole(body: ReadableStream<Uint8Array> | null, onBytes: OnBytes): Promise<string> {
  let whole = ''
  await readText(body, onBytes, text => {
    whole += text
    return false
  })
  return whole
}

async function readText(
  body: ReadableStream<Uint8Array> | null,
  onBytes: OnBytes,
  onText: (text: string) => boolean,
): Promise<void> {
  if (body === null) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let isOver = false
  try {
    while (!isOver) {
      const { done, value } = await reader.read()
      if (done) {
        onText(decoder.decode())
        return
      }
      onBytes(value)
      isOver = onText(decoder.decode(value, { stream: true }))
    }
  } finally {
    // What is left of a body nobody reads is not fetched; of one at its end, or broken, nothing is left.
    reader.cancel().catch(() => undefined)
  }
}
