/** Offers a password to a person who logged in with a link, until they set or decline it. */
import { lazy, Suspense, useState } from 'react'
import { passwordOfferWords as words } from '../words/password-offer.ts'
import './password-offer.css'

// Loaded on demand, because most people decline.
const PasswordDialog = lazy(async () => ({
  default: (await import('./password-dialog.tsx')).PasswordDialog,
}))

/** Set once the offer was declined in this browser. */
const KEY = 'cairn-no-password'

// React.lazy needs a default export.
export default function PasswordOffer() {
  const [isDeclined, setDeclined] = useState(() => localStorage.getItem(KEY) !== null)
  const [isAsking, setAsking] = useState(false)
  if (isDeclined) return null
  const decline = () => {
    localStorage.setItem(KEY, '1')
    setDeclined(true)
  }
  return (
    <aside className="password-offer" aria-label={words.label} data-testid="password-offer">
      <span>{words.text}</span>
      <button type="button" className="button small" onClick={() => setAsking(true)}>
        {words.set}
      </button>
      <button type="button" className="button quiet small" onClick={decline}>
        {words.notNow}
      </button>
      {isAsking && (
        <Suspense fallback={null}>
          <PasswordDialog onDone={() => setAsking(false)} />
        </Suspense>
      )}
    </aside>
  )
}
