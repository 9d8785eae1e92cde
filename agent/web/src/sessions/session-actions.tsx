/** Rename and archive, from the list and from the session's own page. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import {
  Button,
  Dialog,
  Heading,
  Input,
  Label,
  Menu,
  MenuItem,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  TextField,
} from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { ArchiveIcon, MoreIcon, PencilIcon } from '../ui/icons.tsx'

export function SessionActions({ session }: { session: Session }) {
  const [asking, setAsking] = useState<'rename' | 'archive' | null>(null)
  const close = () => setAsking(null)
  return (
    <>
      <MenuTrigger>
        <Button
          className="button quiet square session-menu"
          aria-label={`Actions for ${session.title ?? 'the untitled session'}`}
          data-testid="session-menu"
        >
          <MoreIcon />
        </Button>
        <Popover className="popover" placement="bottom end">
          <Menu
            className="menu"
            aria-label="Session"
            onAction={key => setAsking(key === 'rename' ? 'rename' : 'archive')}
            disabledKeys={session.status === 'archived' ? ['archive'] : []}
          >
            <MenuItem className="menu-item" id="rename" textValue="Rename">
              <PencilIcon />
              Rename …
            </MenuItem>
            <MenuItem className="menu-item" id="archive" textValue="Archive">
              <ArchiveIcon />
              Archive …
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      <ModalOverlay
        className="scrim"
        isOpen={asking !== null}
        onOpenChange={isOpen => {
          if (!isOpen) close()
        }}
        isDismissable
      >
        <Modal className="modal">
          <Dialog>
            {asking === 'rename' ? (
              <RenameForm session={session} onDone={close} />
            ) : (
              <ArchiveForm session={session} onDone={close} />
            )}
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
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
      <Heading slot="title">Rename the session</Heading>
      <TextField
        className="field"
        name="title"
        defaultValue={session.title ?? ''}
        maxLength={256}
        isRequired
        autoFocus
      >
        <Label>Title</Label>
        <Input className="input" data-testid="rename-title" />
      </TextField>
      <div className="actions">
        <Button className="button" onPress={onDone}>
          Cancel
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={rename.isPending}
          data-testid="rename-submit"
        >
          Rename
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
      <Heading slot="title">Archive “{session.title ?? 'Untitled session'}”?</Heading>
      <p className="muted">
        A running turn stops, and the child sessions are archived with it. The log stays and can still be
        read.
      </p>
      <div className="actions">
        <Button className="button" onPress={onDone} autoFocus>
          Cancel
        </Button>
        <Button
          className="button danger"
          isDisabled={archive.isPending}
          onPress={() => archive.mutate()}
          data-testid="archive-submit"
        >
          Archive
        </Button>
      </div>
    </>
  )
}
