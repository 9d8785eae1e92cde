/** The dialogs that rename and archive a session. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { FormEvent } from 'react'
import { Button, Heading, Input, Label, TextField } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { sessionMenuWords } from '../words/session-menu.ts'
import { generalWords } from '../words/general.ts'

type Props = { session: Session; asking: 'rename' | 'archive'; onDone: () => void }

export function SessionDialog({ session, asking, onDone }: Props) {
  const Form = asking === 'rename' ? RenameForm : ArchiveForm
  return (
    <ModalDialog onClose={onDone}>
      <Form session={session} onDone={onDone} />
    </ModalDialog>
  )
}

type FormProps = { session: Session; onDone: () => void }

function RenameForm({ session, onDone }: FormProps) {
  const queries = useQueryClient()
  const rename = useMutation({
    mutationFn: (title: string) =>
      client.call('renameSession', { params: { id: session.id }, body: { title } }),
    onSuccess: async () => {
      onDone()
      await refreshSession(queries, session.id)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const title = String(new FormData(event.currentTarget).get('title')).trim()
    if (title !== '') rename.mutate(title)
  }
  return (
    <form onSubmit={submit}>
      <Heading slot="title">{sessionMenuWords.renameSession}</Heading>
      <TextField
        className="field"
        name="title"
        defaultValue={session.title ?? ''}
        maxLength={256}
        isRequired
        autoFocus
      >
        <Label>{sessionMenuWords.title}</Label>
        <Input className="input" data-testid="rename-title" />
      </TextField>
      <div className="actions">
        <Button className="button" onPress={onDone}>
          {generalWords.cancel}
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={rename.isPending}
          data-testid="rename-submit"
        >
          {sessionMenuWords.rename}
        </Button>
      </div>
    </form>
  )
}

function ArchiveForm({ session, onDone }: FormProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const open = useParams({ strict: false }).sessionId
  const archive = useMutation({
    mutationFn: () => client.call('archiveSession', { params: { id: session.id } }),
    onSuccess: async () => {
      onDone()
      if (open === session.id) await navigate({ to: '/sessions' })
      await refreshSession(queries, session.id)
    },
  })
  return (
    <>
      <Heading slot="title">
        {sessionMenuWords.archiveNamed(session.title ?? generalWords.untitledSession)}
      </Heading>
      <p className="muted">{sessionMenuWords.archiveText}</p>
      <div className="actions">
        <Button className="button" onPress={onDone} autoFocus>
          {generalWords.cancel}
        </Button>
        <Button
          className="button danger"
          isDisabled={archive.isPending}
          onPress={() => archive.mutate()}
          data-testid="archive-submit"
        >
          {sessionMenuWords.archive}
        </Button>
      </div>
    </>
  )
}
