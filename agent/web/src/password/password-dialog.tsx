/** A password for the next time. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button, Heading, Input, Label, Text, TextField } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { say } from '../ui/toasts.tsx'

export function PasswordDialog({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: (password: string) => client.call('setPassword', { body: { password } }),
    meta: { showsError: true },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['me'] })
      onDone()
      say('The password is set.')
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(String(new FormData(event.currentTarget).get('password')))
  }
  return (
    <ModalDialog onClose={onDone}>
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
    </ModalDialog>
  )
}
