/**
 * Stops single letters, digits and signs from acting as keys of the page, for people whose speech input or
 * tremor types them by accident (WCAG 2.1.4). Loaded for those who switched them off.
 */
import { useEffect } from 'react'
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import './no-letter-keys.css'

/** A page of the agent's browser takes what the person types. */
const TYPES = `${TAKES_KEYS}, [role="application"]`
/** Letters do nothing of their own on these. */
const CHOICES = 'input:is([type="checkbox"], [type="radio"])'

function stopCharacter(event: KeyboardEvent): void {
  const { key, target } = event
  // Space presses the button that has the focus.
  if (key.length !== 1 || key === ' ' || event.ctrlKey || event.metaKey || event.altKey) return
  if (target instanceof Element && !target.matches(CHOICES) && target.closest(TYPES) !== null) return
  event.stopImmediatePropagation()
}

// React.lazy needs a default export.
export default function NoLetterKeys() {
  useEffect(() => {
    document.documentElement.dataset['letterKeys'] = 'off'
    // Before every listener of a page.
    window.addEventListener('keydown', stopCharacter, { capture: true })
    return () => {
      delete document.documentElement.dataset['letterKeys']
      window.removeEventListener('keydown', stopCharacter, { capture: true })
    }
  }, [])
  return null
}
