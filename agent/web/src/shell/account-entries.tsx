/**
 * The open account menu and its dialogs. Separate from its button, because the first page has no open menu.
 */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type RefObject, useState } from 'react'
import { client } from '../api.ts'
import { noteIn } from '../login/was-in.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { forgetLogs } from '../session/kept-logs.ts'
import MenuPopover, { type MenuEntry } from '../ui/menu-popover.tsx'
import { PasswordDialog } from '../password/password-dialog.tsx'
import { LinkedAccountsDialog } from './linked-accounts-dialog.tsx'
import { accountWords } from '../words/account.ts'

const ADMINISTRATION: MenuEntry = { id: 'admin', text: accountWords.menu.admin, testId: 'open-admin' }
const ENTRIES: readonly MenuEntry[] = [
  { id: 'notices', text: accountWords.menu.notices, testId: 'open-notices' },
  { id: 'links', text: accountWords.menu.links, testId: 'open-links' },
  { id: 'password', text: accountWords.menu.password },
  { id: 'logout', text: accountWords.menu.logout, testId: 'logout' },
]

type Props = { button: RefObject<HTMLButtonElement | null>; onDone: () => void }

// React.lazy needs a default export.
export default function AccountEntries({ button, onDone }: Props) {
  const { data: me } = useQuery(meQuery)
  const { data: about } = useQuery(aboutQuery)
  const [asking, setAsking] = useState<'password' | 'links' | null>(null)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const logout = useMutation({
    mutationFn: () => client.call('logout'),
    onSuccess: async () => {
      forgetLogs()
      noteIn(false)
      await navigate({ to: '/login' })
      queries.clear()
    },
  })
  if (asking === 'password') return <PasswordDialog onDone={onDone} />
  if (asking === 'links') return <LinkedAccountsDialog onDone={onDone} />
  const choose = (id: string) => {
    if (id === 'password' || id === 'links') return setAsking(id)
    onDone()
    if (id === 'logout') logout.mutate()
    else void navigate({ to: id === 'admin' ? '/admin' : '/notices' })
  }
  const head = (
    <>
      <p className="account-name">
        {me?.name}
        <br />
        <span className="faint">{me?.email}</span>
      </p>
      <p className="account-name faint">{about?.sandbox.summary}</p>
    </>
  )
  const entries = [...(me?.admin === true ? [ADMINISTRATION] : []), ...ENTRIES]
  return (
    <MenuPopover
      menu={{ label: accountWords.account, entries, head, onChoose: choose }}
      button={button}
      onClose={onDone}
    />
  )
}
