/**
 * Finds a text between two marks in whatever arrives, an event's `event` line or the "at=<epoch ms>;" that
 * says when it was sent. Cheap, for a thousand readers share one process: only a mark that is cut in two is
 * copied.
 */
export function watchMarks(
  mark: string,
  end: string,
  onMark: (between: string) => void,
): (data: Buffer) => void {
  let rest: Buffer | null = null
  return piece => {
    const data = rest === null ? piece : Buffer.concat([rest, piece])
    rest = null
    let from = 0
    for (;;) {
      const start = data.indexOf(mark, from)
      if (start < 0) break
      const stop = data.indexOf(end, start + mark.length)
      if (stop < 0) {
        rest = data.subarray(start)
        return
      }
      onMark(data.toString('latin1', start + mark.length, stop))
      from = stop
    }
    for (let length = Math.min(mark.length - 1, data.length - from); length > 0 && rest === null; length--) {
      if (data.toString('latin1', data.length - length) === mark.slice(0, length))
        rest = data.subarray(data.length - length)
    }
  }
}
