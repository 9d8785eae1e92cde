/** Actions on the selected sessions: archive them after a question, or save their logs. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button, Heading } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client } from '../api.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { say, sayError } from '../ui/toasts.tsx'
import { generalWords } from '../words/general.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { sessionsPageWords } from '../words/sessions-page.ts'
import { doToSession } from './session-deeds.ts'
import { refreshLists, setPinned } from './session-marks-query.ts'
import { canPause } from './session-state.tsx'

const isArchived = ({ status }: Session): boolean => status === 'archived'

/** One after the other: each may end the work of a whole tree. */
function useBulk(
  route: 'stopSession' | 'restoreSession',
  words: (count: number) => string,
  onDone: () => void,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (sessions: readonly Session[]) => {
      for (const { id } of sessions) await client.call(route, { params: { id } })
    },
    onSuccess: (_, sessions) => {
      say(words(sessions.length))
      onDone()
    },
    onSettled: () => refreshLists(queries),
  })
}

type DeedProps = { name: string; text: string; isDisabled?: boolean; onClick: () => void }

const Deed = ({ name, text, isDisabled = false, onClick }: DeedProps) => (
  <button
    type="button"
    className="button small"
    disabled={isDisabled}
    onClick={onClick}
    data-testid={`bulk-${name}`}
  >
    {text}
  </button>
)

type Props = { sessions: readonly Session[]; onDone: () => void }

// React.lazy needs a default export.
export default function BulkBar({ sessions, onDone }: Props) {
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const archive = useMutation({
    mutationFn: async () => {
      // One after the other: archiving stops turns and deletes files.
      for (const { id, status } of sessions)
        if (status !== 'archived') await client.call('archiveSession', { params: { id } })
    },
    onSuccess: () => {
      say(sessionsPageWords.archived(sessions.length))
      setAsking(false)
      onDone()
    },
    onSettled: () => refreshLists(queries),
  })
  const [running, archived] = [sessions.filter(canPause), sessions.filter(isArchived)]
  const stop = useBulk('stopSession', sessionsPageWords.stopped, onDone)
  const restore = useBulk('restoreSession', sessionsPageWords.restored, onDone)
  const isAllPinned = sessions.every(({ pinned }) => pinned)
  const save = async () => {
    for (const session of sessions) await doToSession('jsonl', session, queries)
  }
  const togglePins = () => {
    const ids = sessions.map(({ id }) => id)
    setPinned(queries, ids, !isAllPinned).then(onDone).catch(sayError)
  }
  const words = sessionsPageWords
  return (
    <div className="bulk-bar" role="group" aria-label={words.selected(sessions.length)}>
      <span role="status" data-testid="bulk-count">
        {words.selected(sessions.length)}
      </span>
      {archived.length < sessions.length && (
        <Deed name="archive" text={words.archive} onClick={() => setAsking(true)} />
      )}
      <Deed name="export" text={words.exportJsonl} onClick={() => void save().catch(sayError)} />
      <Deed name="pin" text={isAllPinned ? words.unpin : words.pin} onClick={togglePins} />
      {running.length > 0 && (
        <Deed
          name="stop"
          text={words.stop(running.length)}
          isDisabled={stop.isPending}
          onClick={() => stop.mutate(running)}
        />
      )}
      {archived.length > 0 && (
        <Deed
          name="restore"
          text={words.restore(archived.length)}
          isDisabled={restore.isPending}
          onClick={() => restore.mutate(archived)}
        />
      )}
      <button type="button" className="button small quiet" onClick={onDone}>
        {words.clear}
      </button>
      {isAsking && (
        <ModalDialog onClose={() => setAsking(false)}>
          <Heading slot="title">{sessionsPageWords.archiveMany(sessions.length)}</Heading>
          <p className="muted">{sessionMenuWords.archiveText}</p>
          <div className="actions">
            <Button className="button" onPress={() => setAsking(false)} autoFocus>
              {generalWords.cancel}
            </Button>
            <Button
              className="button danger"
              isDisabled={archive.isPending}
              onPress={() => archive.mutate()}
              data-testid="bulk-archive-submit"
            >
              {sessionsPageWords.confirmArchive}
            </Button>
          </div>
        </ModalDialog>
      )}
    </div>
  )
}
