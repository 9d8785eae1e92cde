/**
 * The body of an answer: Server-Sent Events, or one text. The SDKs' own readers hand each event through half
 * a dozen generators and a stream for the tap, which was a third of what a turn cost.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { readChunks } from './response-chunks.ts'

export type OnBytes = (bytes: Uint8Array) => void

/**
 * Reads until the end, or until `onEvent` says true: that was the last. Whatever throws ends the connection.
 * `onBytes` sees every piece before it is parsed, pings and comments included.
 */
export async function readEvents(
  response: Response,
  onBytes: OnBytes,
  onEvent: (event: EventSourceMessage) => boolean,
): Promise<void> {
  let isOver = false
  const parser = createParser({
    onEvent(event) {
      if (!isOver) isOver = onEvent(event)
    },
  })
  await readText(response, onBytes, text => {
    parser.feed(text)
    return isOver
  })
  // Some servers leave out the blank line behind their last event.
  if (!isOver) parser.feed('\n\n')
}

/** The whole body as one text. */
export async function readWhole(response: Response, onBytes: OnBytes): Promise<string> {
  let whole = ''
  await readText(response, onBytes, text => {
    whole += text
    return false
  })
  return whole
}

async function readText(
  response: Response,
  onBytes: OnBytes,
  onText: (text: string) => boolean,
): Promise<void> {
  const decoder = new TextDecoder()
  const isCut = await readChunks(response, piece => {
    onBytes(piece)
    return onText(decoder.decode(piece, { stream: true }))
  })
  if (!isCut) onText(decoder.decode())
}
