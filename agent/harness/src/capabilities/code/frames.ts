/**
 * Splits a coding agent's output into lines: the frames of ACP, and other lines.
 *
 *   before its first frame   other lines are skipped: a wrapper may print a greeting
 *   after it                 another line ends the run: ACP allows only frames there, and the unreadable line
 *                            may be the awaited answer
 */
import { type Readable, Transform } from 'node:stream'

const SHOWN_CHARS = 200

export type Frames = {
  readable: Readable
  /** The skipped lines as the end of a sentence; empty: none. */
  passedOver(): string
}

/** `limitFlood` bounds the length of a line. `onGarbage` is called once. */
export function readFrames(from: Readable, onGarbage: (reason: string) => void): Frames {
  let partial: Buffer[] = []
  let hasGreeted = false
  let isOver = false
  let passed = 0
  let last = ''

  const judge = (line: Buffer): Buffer | null => {
    const text = line.toString('utf8').trim()
    if (text === '' || isOver) return null
    if (isFrame(text)) {
      hasGreeted = true
      return line
    }
    if (hasGreeted) {
      isOver = true
      onGarbage(`the agent wrote a line that is not an ACP message and was stopped: ${shown(text)}`)
      return null
    }
    passed += 1
    last = text
    return null
  }
  const readable = new Transform({
    transform(chunk: Buffer, _, done) {
      const frames: Buffer[] = []
      let rest = chunk
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        const frame = judge(Buffer.concat([...partial, rest.subarray(0, end + 1)]))
        if (frame !== null) frames.push(frame)
        partial = []
        rest = rest.subarray(end + 1)
      }
      if (rest.length > 0) partial.push(rest)
      done(null, frames.length === 0 ? undefined : Buffer.concat(frames))
    },
    flush(done) {
      // A line truncated by the agent's death is ignored; the death is reported.
      const line = Buffer.concat(partial)
      done(null, isFrame(line.toString('utf8')) ? line : undefined)
    },
  })
  from.on('error', thrown => readable.destroy(thrown))
  return {
    readable: from.pipe(readable),
    passedOver: () =>
      passed === 0 ? '' : `; lines that are not ACP messages: ${passed}, the last ${shown(last)}`,
  }
}

/** A request, notification or response; the protocol's schema validates its content. */
function isFrame(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && ('method' in value || 'id' in value)
  } catch {
    return false
  }
}

const shown = (text: string): string =>
  JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)} …` : text)
