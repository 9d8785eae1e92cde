/** The keys of the inbox. A and R belong to the decision that is shown (chat/decide.tsx). */
import { useEffect, useRef } from 'react'
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import { undoLast } from './use-set-aside.ts'

export type InboxKeys = {
  move: (step: 1 | -1, isExtending: boolean) => void
  toggle: () => void
  /** Acknowledges the open item or marks its action as done. */
  finish: () => void
  acknowledgeAll: () => void
  /** Opens the times of the snooze, or ends it. */
  snooze: () => void
  markUnread: () => void
  openSession: () => void
  /** Focuses the first field of the open item. */
  enter: () => void
  choose: (number: number) => void
  leave: () => void
}

/** The choices of a question and the check marks of the list leave the letters to the page. */
const CHOICES = 'input:is([type="checkbox"], [type="radio"])'

export function useInboxKeys(keys: InboxKeys): void {
  const current = useRef(keys)
  useEffect(() => {
    current.current = keys
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const target = event.target
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (target instanceof Element && !target.matches(CHOICES) && target.closest(TAKES_KEYS) !== null) return
      const act = actionOf(event, current.current)
      if (act === undefined) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

function actionOf(
  { key, shiftKey, repeat, target }: KeyboardEvent,
  keys: InboxKeys,
): (() => void) | undefined {
  const letter = key.toLowerCase()
  if (letter === 'j') return () => keys.move(1, shiftKey)
  if (letter === 'k') return () => keys.move(-1, shiftKey)
  if (repeat) return undefined
  if (letter === 'e') return shiftKey ? keys.acknowledgeAll : keys.finish
  if (letter === 'x') return keys.toggle
  if (letter === 'h') return keys.snooze
  if (letter === 'u') return keys.markUnread
  if (letter === 'z') return undoLast
  if (letter === 'o') return keys.openSession
  if (key === 'Escape') return keys.leave
  // On a button or a link, Enter does what that does.
  if (key === 'Enter' && target === document.body) return keys.enter
  return /^[1-9]$/.test(key) ? () => keys.choose(Number(key)) : undefined
}
