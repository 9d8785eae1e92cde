/**
 * Limits of one answer (decision 0015). A model server is not trusted to end: each part of an answer has a
 * maximum, and so has the data read from the connection, so that a call uses bounded memory whatever the
 * server does. Exceeding a limit ends the call as `invalid_response` without a retry: the server would repeat
 * it, and each attempt is paid for.
 */
import { say, type CallSite } from './model-errors.ts'
import { ModelError } from './provider.ts'

const MIB = 1024 * 1024

/** Maximum UTF-8 bytes per part; all calls of an answer together are one part, names and ids included. */
export const MAX_PART_BYTES = 2 * MIB
/** Answer text, visible reasoning, and the provider's own blocks that are returned with the next call. */
type AnswerPart = 'text' | 'reasoning' | 'reasoning details' | 'tool calls'
export const MAX_CALLS = 256
/** Maximum content blocks of an answer, and entries of its reasoning details. */
const MAX_BLOCKS = 4096
/**
 * Maximum bytes of one stream event, or of a JSON answer: a whole answer may arrive in one piece with every
 * character escaped.
 */
export const MAX_EVENT_BYTES = 8 * MIB
/** Maximum blank characters before an answer: servers send them to keep a connection open. */
export const MAX_BLANKS = 64 * 1024
/** Maximum bytes of a stream: each token comes in a frame some seventy times its length. */
export const MAX_STREAM_BYTES = 256 * MIB
/** Maximum bytes of an error response; the rest carries no information. */
export const MAX_REFUSAL_BYTES = 64 * 1024

const tooMuch = (site: CallSite, what: string): ModelError =>
  new ModelError('invalid_response', say(site, `${what}; the call was aborted and is not retried`), {
    retryable: false,
  })

export type AnswerMeter = {
  /** Counts a piece of the answer before it is stored. */
  add(part: AnswerPart, piece: string): void
  /** Counts one more call or block. */
  count(what: 'tool calls' | 'blocks'): void
}

/** Both methods throw a ModelError above a maximum. */
export function meterAnswer(site: CallSite): AnswerMeter {
  const bytes: Record<AnswerPart, number> = { text: 0, reasoning: 0, 'reasoning details': 0, 'tool calls': 0 }
  const counts = { 'tool calls': 0, blocks: 0 }
  const max = { 'tool calls': MAX_CALLS, blocks: MAX_BLOCKS }
  return {
    add(part, piece) {
      bytes[part] += Buffer.byteLength(piece)
      if (bytes[part] > MAX_PART_BYTES)
        throw tooMuch(site, `the answer has more than ${MAX_PART_BYTES / MIB} MiB of ${part}`)
    },
    count(what) {
      counts[what] += 1
      if (counts[what] > max[what]) throw tooMuch(site, `the answer has more than ${max[what]} ${what}`)
    },
  }
}

const LF = 0x0a
const CR = 0x0d

export const tooLong = (site: CallSite): ModelError =>
  tooMuch(site, `an event of the answer is longer than ${MAX_EVENT_BYTES / MIB} MiB`)

export type StreamMeter = {
  /** Counts the bytes of a stream; throws for an event or a stream that exceeds its maximum. */
  count(bytes: Uint8Array): void
  /** An event has ended without a blank line. */
  endEvent(): void
}

export function meterStream(site: CallSite): StreamMeter {
  let total = 0
  let event = 0
  let last = LF
  let lineIsEmpty = true
  return { count, endEvent: () => void (event = 0) }

  function count(bytes: Uint8Array): void {
    total += bytes.length
    // Most chunks are whole events: if one ends with a blank line, the bytes before it do not matter.
    if (bytes.at(-1) === LF && bytes.at(-2) === LF) {
      event = 0
      last = LF
      lineIsEmpty = true
    } else
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0
        event += 1
        if (byte === CR || (byte === LF && last !== CR)) {
          if (lineIsEmpty) event = 0
          lineIsEmpty = true
        } else if (byte !== LF) lineIsEmpty = false
        last = byte
      }
    if (event > MAX_EVENT_BYTES) throw tooLong(site)
    if (total > MAX_STREAM_BYTES)
      throw tooMuch(site, `the stream of the answer is longer than ${MAX_STREAM_BYTES / MIB} MiB`)
  }
}
