/** The account menu: the logged-in person, password, logout. */
import { useQuery } from '@tanstack/react-query'
import { lazy } from 'react'
import { meQuery } from '../queries.ts'
import { OpenerButton } from '../ui/opener-button.tsx'
import { shellWords } from '../words/shell.ts'

const AccountEntries = lazy(() => import('./account-entries.tsx'))

export function AccountMenu() {
  const { data: me } = useQuery(meQuery)
  const name = me?.name ?? ''
  return (
    <OpenerButton
      className="button quiet square avatar"
      label={shellWords.accountOf(name)}
      testId="account"
      renderOpen={(button, close) => <AccountEntries button={button} onDone={close} />}
    >
      {(name[0] ?? '·').toUpperCase()}
    </OpenerButton>
  )
}
