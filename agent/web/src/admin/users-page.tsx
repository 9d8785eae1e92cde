/** The users of the organisation: adding one, sending a new login link, removing one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import type { AnswerOf } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { meQuery } from '../queries.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { usersQuery } from './admin-queries.ts'
import { scrollRegion } from '../ui/scroll-region.ts'
import { ShownOnce } from '../ui/shown-once.tsx'
import { adminWords } from '../words/admin.ts'
import { generalWords } from '../words/general.ts'

type User = AnswerOf<'listUsers'>['users'][number]
type Link = { email: string; url: string }

const linkOf = (email: string, token: string): Link => ({
  email,
  url: `${window.location.origin}/login#token=${token}`,
})

export function UsersPage() {
  const { data: users = [], error } = useQuery(usersQuery)
  const [link, setLink] = useState<Link | null>(null)
  const now = useNow(60_000)
  return (
    <div className="admin-section">
      <header>
        <h2>{adminWords.users}</h2>
      </header>
      <NewUser onMade={setLink} />
      {link && (
        <ShownOnce what={adminWords.loginLinkOf(link.email)} secret={link.url} onDone={() => setLink(null)} />
      )}
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <div className="table-scroll" {...scrollRegion(adminWords.users)}>
        <table className="table" data-testid="users">
          <thead>
            <tr>
              <th scope="col">{generalWords.name}</th>
              <th scope="col">{adminWords.email}</th>
              <th scope="col">{adminWords.role}</th>
              <th scope="col">{adminWords.created}</th>
              <th scope="col">
                <span className="visually-hidden">{generalWords.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {users.map(user => (
              <UserRow key={user.id} user={user} now={now} onLink={setLink} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

function UserRow({ user, now, onLink }: { user: User; now: number; onLink: (link: Link) => void }) {
  const queries = useQueryClient()
  const { data: me } = useQuery(meQuery)
  const makeLink = useMutation({
    mutationFn: () => client.call('createLoginLink', { params: { user_id: user.id } }),
    onSuccess: ({ login_token }) => onLink(linkOf(user.email, login_token)),
  })
  const disable = useMutation({
    mutationFn: () => client.call('disableUser', { params: { user_id: user.id } }),
    onSettled: () => queries.invalidateQueries({ queryKey: usersQuery.queryKey }),
  })
  const isGone = user.disabled_at !== null
  return (
    <tr data-gone={isGone || undefined}>
      <td>{user.name}</td>
      <td>{user.email}</td>
      <td>{isGone ? adminWords.disabled : user.admin ? adminWords.administrator : adminWords.member}</td>
      <td>{formatAgo(user.created_at, now)}</td>
      <td>
        {!isGone && (
          <span className="row-buttons">
            <Button
              className="button small"
              isDisabled={makeLink.isPending}
              onPress={() => makeLink.mutate()}
              aria-label={adminWords.loginLinkFor(user.email)}
            >
              {adminWords.createLoginLink}
            </Button>
            {user.id !== me?.id && (
              <Button
                className="button small danger"
                isDisabled={disable.isPending}
                onPress={() => disable.mutate()}
                aria-label={adminWords.disableNamed(user.email)}
              >
                {adminWords.disable}
              </Button>
            )}
          </span>
        )}
      </td>
    </tr>
  )
}

function NewUser({ onMade }: { onMade: (link: Link) => void }) {
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: (body: { email: string; name: string; admin: boolean }) =>
      client.call('createUser', { body, idempotencyKey: crypto.randomUUID() }),
    meta: { showsError: true },
    onSuccess: async ({ email, login_token }) => {
      onMade(linkOf(email, login_token))
      await queries.invalidateQueries({ queryKey: usersQuery.queryKey })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const element = event.currentTarget
    const form = new FormData(element)
    create.mutate(
      {
        email: String(form.get('email')).trim(),
        name: String(form.get('name')).trim(),
        admin: form.get('admin') === 'on',
      },
      { onSuccess: () => element.reset() },
    )
  }
  return (
    <form className="admin-form" onSubmit={submit}>
      <TextField className="field" name="name" isRequired maxLength={100}>
        <Label>{generalWords.name}</Label>
        <Input className="input" />
      </TextField>
      <TextField className="field" name="email" type="email" isRequired>
        <Label>{adminWords.email}</Label>
        <Input className="input" data-testid="new-user-email" />
      </TextField>
      <label className="admin-check">
        <input type="checkbox" name="admin" /> {adminWords.administrator}
      </label>
      <Button className="button primary" type="submit" isDisabled={create.isPending} data-testid="add-user">
        {adminWords.addUser}
      </Button>
      {create.isError && (
        <p className="inline-error" role="alert">
          {describeError(create.error)}
        </p>
      )}
    </form>
  )
}
