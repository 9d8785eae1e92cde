/**
 * The open account menu. Separate from its button, because the first page has no open menu.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { lazy, type RefObject } from 'react'
import { client } from '../api.ts'
import { noteIn } from '../login/was-in.ts'
import { meQuery } from '../queries.ts'
import { forgetLogs } from '../session/kept-logs.ts'
import { showDialog } from '../ui/dialog-host.tsx'
import { turnOffPush } from '../notifications/push-browser.ts'
import MenuPopover, { type MenuEntry } from '../ui/menu-popover.tsx'
import { sayError } from '../ui/toasts.tsx'
import { nextTheme, themeName } from '../ui/theme.tsx'
import { PasswordDialog } from '../password/password-dialog.tsx'
import { LinkedAccountsDialog } from './linked-accounts-dialog.tsx'
import { type NavPage, pagesFor } from './nav-pages.ts'
import { accountWords } from '../words/account.ts'

const KeysDialog = lazy(() => import('./keys-dialog.tsx'))

const ADMINISTRATION: MenuEntry = { id: 'admin', text: accountWords.menu.admin, testId: 'open-admin' }
const ENTRIES: readonly MenuEntry[] = [
  { id: 'notices', text: accountWords.menu.notices, testId: 'open-notices' },
  { id: 'keys', text: accountWords.menu.keys, testId: 'open-keys' },
  { id: 'links', text: accountWords.menu.links, testId: 'open-links' },
  { id: 'password', text: accountWords.menu.password },
  { id: 'logout', text: accountWords.menu.logout, testId: 'logout' },
]

type Props = {
  /** On a phone: the pages that the bar has no room for. */
  pages?: readonly NavPage[]
  button: RefObject<HTMLButtonElement | null>
  onDone: () => void
}

// React.lazy needs a default export.
export default function AccountEntries({ pages = [], button, onDone }: Props) {
  const { data: me } = useQuery(meQuery)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const logout = useMutation({
    mutationFn: async () => {
      // A failure is shown, and must not keep the person logged in.
      await turnOffPush().catch(sayError)
      await client.call('logout')
    },
    onSuccess: async () => {
      forgetLogs()
      noteIn(false)
      await navigate({ to: '/login' })
      queries.clear()
    },
  })
  const choose = (id: string) => {
    onDone()
    if (id === 'password') showDialog(close => <PasswordDialog onDone={close} />)
    else if (id === 'links') showDialog(close => <LinkedAccountsDialog onDone={close} />)
    else if (id === 'keys')
      showDialog(close => <KeysDialog pages={pagesFor(me?.admin === true)} onClose={close} />)
    else if (id === 'theme') nextTheme()
    else if (id === 'logout') logout.mutate()
    else
      void navigate({ to: pages.find(({ to }) => to === id)?.to ?? (id === 'admin' ? '/admin' : '/notices') })
  }
  const head = (
    <p className="account-name">
      {me?.name}
      <br />
      <span className="faint">{me?.email}</span>
    </p>
  )
  const entries = [
    ...pages.map(({ to, label }) => ({ id: to, text: label, testId: `more-${to.split('/').at(-1) ?? ''}` })),
    { id: 'theme', text: accountWords.menu.theme, detail: themeName(), testId: 'theme-toggle' },
    ...(me?.admin === true && pages.length === 0 ? [ADMINISTRATION] : []),
    ...ENTRIES,
  ]
  return (
    <MenuPopover
      menu={{ label: accountWords.account, entries, head, onChoose: choose }}
      button={button}
      onClose={onDone}
    />
  )
}
