/** A password for the next time. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button, Heading, Input, Label, Text, TextField } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { say } from '../ui/toasts.tsx'

/** A login link, or its token alone, may stand in place of the current password. */
function bodyOf(form: FormData) {
  const password = String(form.get('password'))
  const current = form.get('current')
  if (typeof current !== 'string') return { password }
  const link_token = /cairn_ll_[\w-]+/.exec(current)?.[0]
  return link_token === undefined ? { password, current_password: current } : { password, link_token }
}

export function PasswordDialog({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient()
  const { data: me } = useQuery(meQuery)
  const save = useMutation({
    mutationFn: (body: ReturnType<typeof bodyOf>) => client.call('setPassword', { body }),
    meta: { showsError: true },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['me'] })
      onDone()
      say('The password is set.')
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(bodyOf(new FormData(event.currentTarget)))
  }
  return (
    <ModalDialog onClose={onDone}>
      <form onSubmit={submit}>
        <Heading slot="title">Set a password</Heading>
        {me?.has_password === true && (
          <TextField
            className="field"
            name="current"
            type="password"
            autoComplete="current-password"
            maxLength={1000}
            isRequired
            autoFocus
          >
            <Label>Current password</Label>
            <Input className="input" data-testid="current-password" />
            <Text slot="description" className="faint">
              Forgot it? Ask an administrator for a new login link and paste the link here.
            </Text>
          </TextField>
        )}
        <TextField
          className="field"
          name="password"
          type="password"
          autoComplete="new-password"
          minLength={10}
          maxLength={200}
          isRequired
          autoFocus={me?.has_password !== true}
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
    </ModalDialog>
  )
}
