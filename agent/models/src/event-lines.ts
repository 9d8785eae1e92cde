/**
 * Splits a text into Server-Sent Events as it arrives. Unlike a standard parser, it also ends an event at the
 * next `data` or `event` line if the event is already whole: some servers send no blank line in between.
 */
export type StreamEvent = { event: string | undefined; data: string }

export type EventLines = {
  feed(text: string): void
  /** Dispatches a last event that no blank line follows. */
  end(): void
}

export function eventLines(onEvent: (event: StreamEvent) => void): EventLines {
  let rest = ''
  let endedWithCr = false
  let event: string | undefined
  let data: string | null = null
  /** Lines of the event so far; only a single line is checked, so that no event costs quadratic time. */
  let lines = 0

  function dispatch(): void {
    const whole = data
    const name = event
    data = null
    event = undefined
    lines = 0
    if (whole !== null && whole.trim() !== '') onEvent({ event: name, data: whole })
  }

  function takeLine(line: string): void {
    if (line === '') return dispatch()
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    if (field !== 'data' && field !== 'event') return
    const value = colon === -1 ? '' : line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1)
    const begins = field === 'data' || event !== undefined
    if (begins && data !== null && lines === 1 && isWhole(data)) dispatch()
    if (field === 'event') {
      event = value
      return
    }
    data = data === null ? value : `${data}\n${value}`
    lines += 1
  }

  return {
    feed(text) {
      if (text === '') return
      let given = endedWithCr && text.startsWith('\n') ? text.slice(1) : text
      endedWithCr = text.endsWith('\r')
      if (given.includes('\r')) given = given.replaceAll(/\r\n?/g, '\n')
      let start = 0
      for (let end = given.indexOf('\n'); end !== -1; end = given.indexOf('\n', start)) {
        takeLine(rest + given.slice(start, end))
        rest = ''
        start = end + 1
      }
      rest += given.slice(start)
    },
    end() {
      if (rest !== '') takeLine(rest)
      rest = ''
      dispatch()
    },
  }
}

export const END_MARKER = '[DONE]'

/** Whether the data of one line is an event by itself. */
function isWhole(data: string): boolean {
  const text = data.trim()
  if (text === '' || text === END_MARKER) return true
  if (!text.endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    // The first line of an event whose JSON is spread over several lines.
    return false
  }
}
