/** What the agent changed in files, in the session or in one turn, by the checkpoints of its calls. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { visibleText } from '@cairn/protocol'
import { describeError, isMissing } from '../api.ts'
import { DiffView } from '../code/diff-view.tsx'
import { plural } from '../format.ts'
import { checkpointQuery, fileQuery } from '../queries.ts'
import type { FollowedSession } from '../session/followed-session.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { ChevronIcon } from '../ui/page-icons.tsx'
import { type ChangedFile, changedFiles, type RunChanges, runChanges } from './changes.ts'
import { TurnPicker } from './turn-picker.tsx'

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
  return (
    <>
      <TurnPicker turns={turns} value={turn?.number ?? null} whole="The whole session" onChange={setPicked} />
      {files.length === 0 ? (
        runs.length === 0 && (
          <p className="rail-empty muted">No file was changed by write_file or edit_file.</p>
        )
      ) : (
        <ul className="changes">
          {files.map(file => (
            <Changed key={`${file.path} ${file.before}`} sessionId={log.id} file={file} onEvent={onEvent} />
          ))}
        </ul>
      )}
      {runs.map(run => (
        <Run key={run.run_id} run={run} onEvent={onEvent} />
      ))}
      <p className="faint rail-note">
        What commands of the terminal changed is not kept, and not shown here. Of runs of coding agents the
        names are.
      </p>
    </>
  )
}

function Run({
  run: { agent, files, eventId },
  onEvent,
}: {
  run: RunChanges
  onEvent: (id: number) => void
}) {
  return (
    <section data-testid="run-changes">
      <p className="faint">
        A run of {visibleText(agent)} made, wrote or moved {plural(files.length, 'file')} ·{' '}
        <button type="button" className="json-link" onClick={() => onEvent(eventId)}>
          event {eventId}
        </button>
      </p>
      <ul className="changes">
        {files.map(path => (
          <li key={path}>
            <code>
              <ExactText text={path} />
            </code>
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
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <details
        className="changed-file"
        data-testid="changed-file"
        data-path={file.path}
        onToggle={event => setOpen(event.currentTarget.open)}
      >
        <summary>
          <ChevronIcon />
          <code className="truncate">
            <ExactText text={file.path} />
          </code>
          <span className="faint">{plural(file.calls, 'change')}</span>
        </summary>
        {isOpen && (
          <>
            <FileDiff sessionId={sessionId} file={file} />
            <button type="button" className="json-link" onClick={() => onEvent(file.eventId)}>
              event {file.eventId}
            </button>
          </>
        )}
      </details>
    </li>
  )
}

function FileDiff({ sessionId, file }: { sessionId: string; file: ChangedFile }) {
  const before = useQuery(checkpointQuery(sessionId, file.before))
  const later = useQuery({ ...checkpointQuery(sessionId, file.after ?? ''), enabled: file.after !== null })
  const present = useQuery({ ...fileQuery(sessionId, file.path), enabled: file.after === null, retry: false })
  const isGone = isMissing(present.error)
  const error = before.error ?? later.error ?? (isGone ? null : present.error)
  if (error) return <p className="inline-error">{describeError(error)}</p>
  const of = (data: typeof before.data) => data?.files.find(({ path }) => path === file.path)
  const was = of(before.data)
  const is = file.after === null ? present.data : of(later.data)
  if (before.data === undefined || (is === undefined && !isGone)) return <p className="faint">Loading …</p>
  const texts = [textOf(was), isGone ? '' : textOf(is)] as const
  if (texts[0] === null || texts[1] === null)
    return <p className="faint">The file is no text, or too long to be compared.</p>
  return (
    <>
      {(was === undefined || !('existed' in was && was.existed)) && <p className="faint">A new file.</p>}
      {isGone && <p className="faint">It is not there any more.</p>}
      <DiffView before={texts[0]} after={texts[1]} />
    </>
  )
}

type Version = { content: string | null; existed?: boolean; encoding?: string; truncated?: boolean }

/** The text of a version; empty where there was no file, null where it is no text. */
function textOf(version: Version | undefined): string | null {
  if (version === undefined || version.existed === false) return ''
  return version.encoding === 'base64' || version.truncated === true ? null : version.content
}
