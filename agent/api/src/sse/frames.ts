/**
 * Server-Sent Events as bytes: each event is encoded once, and a run of events is one buffer for all its
 * readers.
 */
import type { EventId } from '@cairn/protocol'
import type { StoredEvent } from '@cairn/log'

/**
 * Bytes ready to be written, framed as one chunk of HTTP/1.1 chunked encoding. `bodyStart` and `bodyEnd`
 * delimit the payload, for HTTP/1.0 clients, which get it unframed.
 */
export type Chunk = { bytes: Buffer; bodyStart: number; bodyEnd: number }
/** Events after `from` up to `to`, in order. */
export type Run = Chunk & { from: EventId; to: EventId; events: readonly StoredEvent[] }

const frame = ({ id, type, json }: StoredEvent): string => `id: ${id}\nevent: ${type}\ndata: ${json}\n\n`

export function chunk(text: string): Chunk {
  const size = Buffer.byteLength(text)
  const head = `${size.toString(16)}\r\n`
  const bytes = Buffer.allocUnsafeSlow(head.length + size + 2)
  bytes.write(head, 0, 'latin1')
  bytes.write(text, head.length, 'utf8')
  bytes.write('\r\n', head.length + size, 'latin1')
  return { bytes, bodyStart: head.length, bodyEnd: head.length + size }
}

/** The same for bytes that are encoded already. */
export function chunkOf(body: Uint8Array): Chunk {
  const head = Buffer.from(`${body.length.toString(16)}\r\n`, 'latin1')
  const bytes = Buffer.concat([head, body, Buffer.from('\r\n', 'latin1')])
  return { bytes, bodyStart: head.length, bodyEnd: head.length + body.length }
}

export function run(from: EventId, events: readonly StoredEvent[]): Run {
  let text = ''
  for (const event of events) text += frame(event)
  return { ...chunk(text), from, to: events.at(-1)?.id ?? from, events }
}

// Comments and fields without an event end with a newline but never with a blank line: a blank line ends a
// block, and some clients emit every block, with data or not. So the opening belongs to the block of the
// first event.
export const OPENING = chunk('retry: 2000\n: connected\n')
export const KEEP_ALIVE = chunk(': keep-alive\n')
export const DRAINING = chunk(': draining\n')
/** The end of a chunked body. */
export const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/** Events per read; RUN_BYTES limits the size of a write. */
export const PAGE = 256
/** Characters per write; a larger event is a write of its own. */
const RUN_BYTES = 64 * 1024

/** Splits a page into runs of moderate size, each one write. */
export function* runsOf(from: EventId, events: readonly StoredEvent[]): Generator<Run> {
  let start = 0
  let size = 0
  let after = from
  for (const [index, event] of events.entries()) {
    size += event.json.length + event.type.length + 32
    if (size < RUN_BYTES && index < events.length - 1) continue
    const part = run(after, events.slice(start, index + 1))
    after = part.to
    start = index + 1
    size = 0
    yield part
  }
}
