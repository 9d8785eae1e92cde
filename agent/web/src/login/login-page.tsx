/** Email and password, or the one-time link printed by the server on its first start. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import type { BodyOf } from '@cairn/protocol'
import { describeError, unrenewed } from '../api.ts'
import { CairnMark } from '../ui/icons.tsx'
import { ThemeToggle } from '../ui/theme.tsx'
import { forgetLogs } from '../session/use-session-log.ts'
import { takeToken } from './link-token.ts'
import './login.css'

export function LoginPage() {
  const { next } = useSearch({ from: '/login' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const login = useMutation({
    mutationFn: (body: BodyOf<'login'>) => unrenewed.call('login', { body }),
    meta: { showsError: true },
    onSuccess: async () => {
      forgetLogs()
      queries.clear()
      await navigate({ to: next ?? '/sessions', replace: true })
    },
  })
  const { mutate } = login
  useEffect(() => {
    const token = takeToken()
    if (token !== null) mutate({ link_token: token, cookie: true })
  }, [mutate])

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    mutate({ email: String(form.get('email')).trim(), password: String(form.get('password')), cookie: true })
  }
  return (
    <main className="login">
      <form className="login-card" onSubmit={submit} data-testid="login-form" aria-label="Log in">
        <div className="login-brand">
          <CairnMark />
          <h1>Cairn</h1>
        </div>
        <TextField className="field" name="email" type="email" autoComplete="username" isRequired>
          <Label>Email</Label>
          <Input className="input" data-testid="login-email" />
        </TextField>
        <TextField
          className="field"
          name="password"
          type="password"
          autoComplete="current-password"
          isRequired
        >
          <Label>Password</Label>
          <Input className="input" data-testid="login-password" />
        </TextField>
        {login.isError && (
          <p className="inline-error" role="alert" data-testid="login-error">
            {describeError(login.error)}
          </p>
        )}
        <Button
          className="button primary"
          type="submit"
          isDisabled={login.isPending}
          data-testid="login-submit"
        >
          {login.isPending ? 'Logging in …' : 'Log in'}
        </Button>
        <p className="faint">
          The first time, open the login link that the server printed when it started. It works once.
        </p>
      </form>
      <div className="login-theme">
        <ThemeToggle />
      </div>
    </main>
  )
}
