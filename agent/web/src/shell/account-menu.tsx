/** Who is logged in; a password for the next time, and the way out. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Suspense, lazy, useState } from 'react'
import { client } from '../api.ts'
import { canNotify } from '../inbox/notices.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { forgetLogs } from '../session/kept-logs.ts'
import { MenuButton, type MenuEntry } from '../ui/menu-button.tsx'
import { say } from '../ui/toasts.tsx'

const PasswordDialog = lazy(() => import('./password-dialog.tsx'))
const ADMINISTRATION: MenuEntry = { id: 'admin', text: 'Administration', testId: 'open-admin' }
const NOTICES: MenuEntry = { id: 'notices', text: 'Notifications on or off' }
const ENTRIES: readonly MenuEntry[] = [
  { id: 'password', text: 'Set a password …' },
  { id: 'logout', text: 'Log out', testId: 'logout' },
]

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
  const notify = useMutation({
    mutationFn: async () => (await import('../inbox/toggle-notices.ts')).toggleNotices(),
    onSuccess: isOn =>
      say(isOn ? 'This browser tells you what waits.' : 'Notifications are off in this browser.'),
  })
  const name = me?.name ?? ''
  const head = (
    <>
      <p className="account-name">
        {name}
        <br />
        <span className="faint">{me?.email}</span>
      </p>
      <p className="account-name faint">{about?.sandbox.summary}</p>
    </>
  )
  return (
    <>
      <MenuButton
        className="button quiet square avatar"
        label={`Account ${name}`}
        testId="account"
        menu={{
          label: 'Account',
          entries: [
            ...(me?.admin === true ? [ADMINISTRATION] : []),
            ...(canNotify() ? [NOTICES] : []),
            ...ENTRIES,
          ],
          head,
          onChoose: id => {
            if (id === 'logout') logout.mutate()
            else if (id === 'admin') void navigate({ to: '/admin' })
            else if (id === 'notices') notify.mutate()
            else setAsking(true)
          },
        }}
      >
        {(name[0] ?? '·').toUpperCase()}
      </MenuButton>
      {isAsking && (
        <Suspense fallback={null}>
          <PasswordDialog onDone={() => setAsking(false)} />
        </Suspense>
      )}
    </>
  )
}
