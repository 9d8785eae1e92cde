/**
 * How far the spans of each session have been accepted: a file of lines, to which a line is added for each
 * session of a batch. A line that is lost in a crash only means that its spans are sent again, with the same
 * ids.
 */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { TelemetryRest } from '@cairn/state'

/** `sent`: spans that end with an event up to it have been accepted. */
export type SessionCursor = { sent: number; rest: TelemetryRest }
export type Cursor = {
  get(sessionId: string): SessionCursor | undefined
  save(entries: ReadonlyMap<string, SessionCursor>): void
  /** Marks that everything up to a time, in epoch milliseconds, has been sent. */
  saveTime(at: number): void
  /** Spans of a session without a cursor are sent only if they end at or after this time. */
  readonly since: number
  /** Sessions that changed at or after this time may have unsent spans. */
  readonly readTo: number
}

type Line = { since: number } | { read_to: number } | ({ session: string } & SessionCursor)

/** Sessions at rest for longer need no line: all that ended before has been sent. */
const FORGET_MS = 7 * 24 * 3_600_000
/** The file is rewritten when it has this many lines more than there are sessions. */
const SPARE_LINES = 20_000

export function openCursor(file: string, now: number): Cursor {
  const sessions = new Map<string, SessionCursor>()
  let since = now
  let readTo = 0
  let lines = 0
  for (const text of existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []) {
    const line = parsed(text)
    if (line === null) continue
    if ('since' in line) since = line.since
    else if ('read_to' in line) readTo = line.read_to
    else sessions.set(line.session, { sent: line.sent, rest: line.rest })
  }
  readTo = Math.max(readTo, since)
  rewrite()

  function rewrite(): void {
    const before = readTo - FORGET_MS
    for (const [session, { sent, rest }] of sessions)
      if (rest.through >= sent && rest.at < before) sessions.delete(session)
    since = Math.max(since, before)
    const all: Line[] = [{ since }, { read_to: readTo }]
    for (const [session, cursor] of sessions) all.push({ session, ...cursor })
    writeFileSync(`${file}.new`, textOf(all), { mode: 0o600 })
    renameSync(`${file}.new`, file)
    lines = all.length
  }

  function add(more: readonly Line[]): void {
    lines += more.length
    if (lines > sessions.size + SPARE_LINES) rewrite()
    else appendFileSync(file, textOf(more))
  }

  return {
    get since() {
      return since
    },
    get readTo() {
      return readTo
    },
    get: sessionId => sessions.get(sessionId),
    save: entries => {
      for (const [session, cursor] of entries) sessions.set(session, cursor)
      add([...entries].map(([session, cursor]) => ({ session, ...cursor })))
    },
    saveTime: at => {
      readTo = at
      add([{ read_to: at }])
    },
  }
}

const textOf = (lines: readonly Line[]): string => lines.map(line => `${JSON.stringify(line)}\n`).join('')

/** Null for the last line of a process that was killed while it wrote. */
function parsed(text: string): Line | null {
  if (text === '') return null
  try {
    return JSON.parse(text) as Line
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
