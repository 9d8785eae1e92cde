/** Login by email and password, or by the one-time link that the server prints on its first start. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect } from 'react'
import type { BodyOf } from '@cairn/protocol'
import { describeError, unrenewed } from '../api.ts'
import { CairnMark } from '../ui/icons.tsx'
import { ThemeToggle } from '../ui/theme.tsx'
import { forgetLogs } from '../session/kept-logs.ts'
import { takeToken } from './link-token.ts'
import './login.css'
import { loginWords } from '../words/login.ts'
import { generalWords } from '../words/general.ts'
import { rich } from '../words/rich.tsx'

export function LoginPage() {
  const { next, ended } = useSearch({ from: '/login' })
  const navigate = useNavigate()
  const router = useRouter()
  const queries = useQueryClient()
  const login = useMutation({
    mutationFn: (body: BodyOf<'login'>) => unrenewed.call('login', { body }),
    meta: { showsError: true },
    onSuccess: async () => {
      forgetLogs()
      queries.clear()
      if (next === undefined) await navigate({ to: '/', replace: true })
      // `next` may have a query, so it is an address and not only a path.
      else router.history.replace(next)
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
      <form className="login-card" onSubmit={submit} data-testid="login-form" aria-label={loginWords.form}>
        <div className="login-brand">
          <CairnMark />
          <h1>{generalWords.product}</h1>
        </div>
        {ended === true && !login.isError && (
          <p role="status" data-testid="login-ended">
            {loginWords.ended}
          </p>
        )}
        <Fields />
        {login.isError && (
          <p className="inline-error" role="alert" data-testid="login-error">
            {describeError(login.error)}
          </p>
        )}
        <button
          type="submit"
          className="button primary"
          disabled={login.isPending}
          data-testid="login-submit"
        >
          {login.isPending ? loginWords.loggingIn : loginWords.form}
        </button>
        <p className="faint">{rich(loginWords.noPassword, { command: <code>cairn login</code> })}</p>
      </form>
      <div className="login-theme">
        <ThemeToggle />
      </div>
    </main>
  )
}

const Fields = () => (
  <>
    <div className="field">
      <label htmlFor="login-email">{loginWords.email}</label>
      <input
        id="login-email"
        className="input"
        name="email"
        type="email"
        autoComplete="username"
        required
        data-testid="login-email"
      />
    </div>
    <div className="field">
      <label htmlFor="login-password">{loginWords.password}</label>
      <input
        id="login-password"
        className="input"
        name="password"
        type="password"
        autoComplete="current-password"
        required
        data-testid="login-password"
      />
    </div>
  </>
)
