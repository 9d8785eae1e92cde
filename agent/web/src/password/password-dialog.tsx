/** Sets or changes the person's password. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button, Heading, Input, Label, Text, TextField } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { say } from '../ui/toasts.tsx'
import { loginWords } from '../words/login.ts'
import { generalWords } from '../words/general.ts'

/** A login link, or its token, can replace the current password. */
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
      say(loginWords.passwordSet)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    save.mutate(bodyOf(new FormData(event.currentTarget)))
  }
  return (
    <ModalDialog onClose={onDone}>
      <form onSubmit={submit}>
        <Heading slot="title">{loginWords.setPassword}</Heading>
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
            <Label>{loginWords.currentPassword}</Label>
            <Input className="input" data-testid="current-password" />
            <Text slot="description" className="faint">
              {loginWords.forgot}
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
          <Label>{loginWords.newPassword}</Label>
          <Input className="input" data-testid="new-password" />
          <Text slot="description" className="faint">
            {loginWords.passwordHint}
          </Text>
        </TextField>
        {save.isError && (
          <p className="inline-error" role="alert">
            {describeError(save.error)}
          </p>
        )}
        <div className="actions">
          <Button className="button" onPress={onDone}>
            {generalWords.cancel}
          </Button>
          <Button
            className="button primary"
            type="submit"
            isDisabled={save.isPending}
            data-testid="save-password"
          >
            {loginWords.setPassword}
          </Button>
        </div>
      </form>
    </ModalDialog>
  )
}
