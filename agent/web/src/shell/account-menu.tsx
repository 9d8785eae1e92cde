/** The account at the foot of the navigation. Its menu is loaded on first use. */
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
      className="account"
      label={shellWords.accountOf(`${name} ${me?.email ?? ''}`.trim())}
      testId="account"
      renderOpen={(button, close) => <AccountEntries button={button} onDone={close} />}
    >
      {/* The initials are no text: the label of the button has to contain what it shows. */}
      <span className="avatar" data-initials={initialsOf(name)} />
      <span className="account-who truncate">{name}</span> <span className="faint truncate">{me?.email}</span>
    </OpenerButton>
  )
}

/** The first letters of the first and the last word. */
const initialsOf = (name: string): string =>
  (name.match(/^\S|(?<=\s)\S(?=\S*$)/gu)?.join('') ?? '·').toUpperCase()
