/** Who is logged in; a password for the next time, and the way out. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
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
  Text,
  TextField,
} from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { forgetLogs } from '../session/use-session-log.ts'
import { say } from '../ui/toasts.tsx'

export function AccountMenu() {
  const { data: me } = useQuery(meQuery)
  const { data: about } = useQuery(aboutQuery)
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const logout = useMutation({
    mutationFn: () => client.call('logout'),
    onSuccess: async () => {
      forgetLogs()
      await navigate({ to: '/login' })
      queries.clear()
    },
  })
  const name = me?.name ?? ''
  return (
    <>
      <MenuTrigger>
        <Button className="button quiet square avatar" aria-label={`Account ${name}`} data-testid="account">
          {(name[0] ?? '·').toUpperCase()}
        </Button>
        <Popover className="popover" placement="bottom end">
          <p className="account-name">
            {name}
            <br />
            <span className="faint">{me?.email}</span>
          </p>
          <p className="account-name faint">{about?.sandbox.summary}</p>
          <Menu
            className="menu"
            aria-label="Account"
            onAction={key => {
              if (key === 'logout') logout.mutate()
              else setAsking(true)
            }}
          >
            <MenuItem className="menu-item" id="password">
              Set a password …
            </MenuItem>
            <MenuItem className="menu-item" id="logout" data-testid="logout">
              Log out
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
      <ModalOverlay className="scrim" isOpen={isAsking} onOpenChange={setAsking} isDismissable>
        <Modal className="modal">
          <Dialog>
            <PasswordForm onDone={() => setAsking(false)} />
          </Dialog>
        </Modal>
      </ModalOverlay>
    </>
  )
}

function PasswordForm({ onDone }: { onDone: () => void }) {
  const save = useMutation({
    mutationFn: (password: string) => client.call('setPassword', { body: { password } }),
    meta: { showsError: true },
    onSuccess: () => {
      onDone()
      say('The password is set.')
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(String(new FormData(event.currentTarget).get('password')))
  }
  return (
    <form onSubmit={submit}>
      <Heading slot="title">Set a password</Heading>
      <TextField
        className="field"
        name="password"
        type="password"
        autoComplete="new-password"
        minLength={10}
        maxLength={200}
        isRequired
        autoFocus
      >
        <Label>New password</Label>
        <Input className="input" data-testid="new-password" />
        <Text slot="description" className="faint">
          At least 10 characters. A login link works once; a password works every time.
        </Text>
      </TextField>
      {save.isError && (
        <p className="inline-error" role="alert">
          {describeError(save.error)}
        </p>
      )}
      <div className="actions">
        <Button className="button" onPress={onDone}>
          Cancel
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={save.isPending}
          data-testid="save-password"
        >
          Set
        </Button>
      </div>
    </form>
  )
}
