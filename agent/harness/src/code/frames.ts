/**
 * What a coding agent writes, line by line: the frames of ACP, and whatever else.
 *
 *   before its first frame   a line that is none is passed over: a wrapper may greet the terminal
 *   after it                 such a line may be the answer that is waited for. ACP allows nothing else there,
 *                            and nobody can read it, so the run ends
 */
import { type Readable, Transform } from 'node:stream'

const SHOWN_CHARS = 200

export type Frames = {
  readable: Readable
  /** The lines that were passed over, as the end of a sentence; empty: there were none. */
  passedOver(): string
}

/** Lines are no longer than `limitFlood` lets them be. `onGarbage` is told once. */
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
      onGarbage(`the agent wrote a line that is no message of ACP, and was ended: ${shown(text)}`)
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
      // A line that its death cut off says nothing: the death does.
      const line = Buffer.concat(partial)
      done(null, isFrame(line.toString('utf8')) ? line : undefined)
    },
  })
  from.on('error', thrown => readable.destroy(thrown))
  return {
    readable: from.pipe(readable),
    passedOver: () =>
      passed === 0 ? '' : `; lines that are no messages of ACP: ${passed}, the last ${shown(last)}`,
  }
}

/** A request, a notification or an answer; what is in it is judged by the protocol's schema. */
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
