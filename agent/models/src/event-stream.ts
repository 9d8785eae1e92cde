/**
 * Reads the body of an answer: Server-Sent Events, or one text. The SDKs' readers pass each event through
 * half a dozen generators and a stream for the tap, which was a third of a turn's CPU time.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { readChunks } from './response-chunks.ts'

export type OnBytes = (bytes: Uint8Array) => void

/**
 * Reads until the end, or until `onEvent` returns true for the last event. An exception ends the connection.
 * `onBytes` sees every chunk before it is parsed, including pings and comments.
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
  // Some servers omit the blank line after their last event.
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
