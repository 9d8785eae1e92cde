/** Offers a password to a person who logged in with a link, until they set or decline it. */
import { useQuery } from '@tanstack/react-query'
import { Suspense, lazy, useState } from 'react'
import { meQuery } from '../queries.ts'
import { loginWords } from '../words/login.ts'

// Loaded on demand, because most people decline.
const PasswordDialog = lazy(async () => ({
  default: (await import('./password-dialog.tsx')).PasswordDialog,
}))

/** Set once the offer was declined in this browser. */
const KEY = 'cairn-no-password'

export function PasswordOffer() {
  const { data: me } = useQuery(meQuery)
  const [isDeclined, setDeclined] = useState(() => localStorage.getItem(KEY) !== null)
  const [isAsking, setAsking] = useState(false)
  if (me?.has_password !== false || isDeclined) return null
  const decline = () => {
    localStorage.setItem(KEY, '1')
    setDeclined(true)
  }
  return (
    <aside className="password-offer" aria-label={loginWords.offer} data-testid="password-offer">
      <span>{loginWords.offerText}</span>
      <button type="button" className="button small" onClick={() => setAsking(true)}>
        {loginWords.setPassword}
      </button>
      <button type="button" className="button quiet small" onClick={decline}>
        {loginWords.notNow}
      </button>
      {isAsking && (
        <Suspense fallback={null}>
          <PasswordDialog onDone={() => setAsking(false)} />
        </Suspense>
      )}
    </aside>
  )
}
