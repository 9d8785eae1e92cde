/** The files changed in the session or in one turn, by calls of the agent and by coding agents. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { visibleText } from '@cairn/protocol'
import { describeError, isMissing } from '../api.ts'
import { DiffView } from '../code/diff-view.tsx'
import { checkpointQuery, fileQuery } from '../queries.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { type ChangedFile, changedFiles, forkedFrom, type RunChanges, runChanges } from './changes.ts'
import { TurnPicker } from './turn-picker.tsx'
import { railWords } from '../words/rail.ts'
import { generalWords } from '../words/general.ts'

type Props = { log: FollowedSession; onEvent: (id: number) => void }

export function ChangesSection({ log, onEvent }: Props) {
  const { turns, events } = log.index
  const [picked, setPicked] = useState<number | null>(null)
  const turn = turns.find(({ number }) => number === picked)
  const next = turns.find(({ number }) => number === (turn?.number ?? Infinity) + 1)
  const range =
    turn === undefined
      ? { from: 0, through: Infinity }
      : { from: turn.startId, through: (next?.startId ?? Infinity) - 1 }
  const files = changedFiles(events, range)
  const runs = runChanges(events, range)
  const origin = turn === undefined ? forkedFrom(events) : null
  return (
    <>
      <TurnPicker
        turns={turns}
        value={turn?.number ?? null}
        whole={railWords.wholeSession}
        onChange={setPicked}
      />
      {files.length === 0 ? (
        runs.length === 0 && <p className="rail-empty muted">{railWords.noChanges}</p>
      ) : (
        <ul className="changes">
          {files.map(file => (
            <Changed key={`${file.path} ${file.before}`} sessionId={log.id} file={file} onEvent={onEvent} />
          ))}
        </ul>
      )}
      {runs.map(run => (
        <Run key={run.run_id} sessionId={log.id} run={run} onEvent={onEvent} />
      ))}
      {origin !== null && <Earlier sessionId={origin.session_id} />}
      <p className="faint rail-note">{railWords.commandsNotTracked}</p>
    </>
  )
}

/** Links to the original session: a fork gets its files but not its checkpoints. */
function Earlier({ sessionId }: { sessionId: string }) {
  return (
    <p className="faint rail-note" data-testid="changes-before">
      {railWords.earlier}{' '}
      <Link
        className="json-link"
        to="/sessions/$sessionId"
        params={{ sessionId }}
        search={{ rail: 'changes' }}
      >
        {railWords.original}
      </Link>
    </p>
  )
}

function Run({
  sessionId,
  run: { agent, files, between, eventId },
  onEvent,
}: {
  sessionId: string
  run: RunChanges
  onEvent: (id: number) => void
}) {
  return (
    <section data-testid="run-changes">
      <p className="faint">
        {railWords.runChanged(visibleText(agent), files.length)} ·{' '}
        <button type="button" className="json-link" onClick={() => onEvent(eventId)}>
          {generalWords.event(eventId)}
        </button>
      </p>
      <ul className="changes">
        {files.map(path => (
          <li key={path}>
            {between === null ? (
              <code>
                <ExactText text={path} />
              </code>
            ) : (
              <Opened path={path}>
                <FileDiff sessionId={sessionId} file={{ path, ...between }} />
              </Opened>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Changed({
  sessionId,
  file,
  onEvent,
}: {
  sessionId: string
  file: ChangedFile
  onEvent: (id: number) => void
}) {
  return (
    <li>
      <Opened path={file.path} more={railWords.changeCount(file.calls)}>
        <FileDiff sessionId={sessionId} file={file} />
        <button type="button" className="json-link" onClick={() => onEvent(file.eventId)}>
          {generalWords.event(file.eventId)}
        </button>
      </Opened>
    </li>
  )
}

/** A path that can be expanded; its content is fetched then. */
function Opened({ path, more, children }: { path: string; more?: string; children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="changed-file"
      data-testid="changed-file"
      data-path={path}
      onToggle={event => setOpen(event.currentTarget.open)}
    >
      <summary>
        <ChevronIcon />
        <code className="truncate">
          <ExactText text={path} />
        </code>
        {more !== undefined && <span className="faint">{more}</span>}
      </summary>
      {isOpen && children}
    </details>
  )
}

type Between = Pick<ChangedFile, 'path' | 'before' | 'after'>

function FileDiff({ sessionId, file }: { sessionId: string; file: Between }) {
  const before = useQuery(checkpointQuery(sessionId, file.before))
  const later = useQuery({ ...checkpointQuery(sessionId, file.after ?? ''), enabled: file.after !== null })
  const present = useQuery({ ...fileQuery(sessionId, file.path), enabled: file.after === null, retry: false })
  const isMissed = isMissing(present.error)
  const error = before.error ?? later.error ?? (isMissed ? null : present.error)
  if (error) return <p className="inline-error">{describeError(error)}</p>
  const of = (data: typeof before.data) => data?.files.find(({ path }) => path === file.path)
  const was = of(before.data)
  const then = of(later.data)
  const is = file.after === null ? present.data : then
  const isGone = isMissed || then?.existed === false
  if (before.data !== undefined && later.data !== undefined && is === undefined)
    return <p className="faint">{railWords.tooLarge}</p>
  if (before.data === undefined || (is === undefined && !isGone))
    return <p className="faint">{generalWords.loading}</p>
  const texts = [textOf(was), isGone ? '' : textOf(is)] as const
  if (texts[0] === null || texts[1] === null) return <p className="faint">{railWords.notComparable}</p>
  return (
    <>
      {(was === undefined || !('existed' in was && was.existed)) && (
        <p className="faint">{railWords.newFile}</p>
      )}
      {isGone && <p className="faint">{railWords.deleted}</p>}
      <DiffView before={texts[0]} after={texts[1]} />
    </>
  )
}

type Version = { content: string | null; existed?: boolean; encoding?: string; truncated?: boolean }

/** The text of a version; empty if the file did not exist, null if it is not text. */
function textOf(version: Version | undefined): string | null {
  if (version === undefined || version.existed === false) return ''
  return version.encoding === 'base64' || version.truncated === true ? null : version.content
}
