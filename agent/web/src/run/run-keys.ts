/** The keys of the Run view. They work on the page where they have no other use; letters not in fields. */
import { TAKES_KEYS } from '../ui/takes-keys.ts'
import { useEffect, useRef } from 'react'

const RUN_COMMANDS = {
  j: 'down',
  ArrowDown: 'down',
  k: 'up',
  ArrowUp: 'up',
  PageDown: 'page-down',
  PageUp: 'page-up',
  Home: 'first',
  End: 'last',
  ArrowLeft: 'close-row',
  ArrowRight: 'open-row',
  z: 'zoom-to',
  '0': 'whole',
  '+': 'zoom-in',
  '=': 'zoom-in',
  '-': 'zoom-out',
  '−': 'zoom-out',
  n: 'next-failure',
  p: 'previous-failure',
  e: 'next-reading',
  t: 'time-mode',
  f: 'follow',
  ']': 'pane',
  '/': 'filter',
  '?': 'help',
  Enter: 'into-pane',
  Escape: 'out',
} as const
export type RunCommand = (typeof RUN_COMMANDS)[keyof typeof RUN_COMMANDS]

const ELSEWHERE = `${TAKES_KEYS}, [role="tree"]`
const CONTROLS = 'a, button, summary, [role="slider"], [role="separator"], [role="tab"], #reading-panel'
/** After G, a letter names a page. */
const SECOND_KEY_MS = 1500

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>

/** On a control, keys that operate controls stay with it. */
export function runCommandOf(event: Key, isControl: boolean): RunCommand | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  if (isControl && event.key.length > 1 && event.key !== 'Escape') return null
  return Object.hasOwn(RUN_COMMANDS, key) ? RUN_COMMANDS[key as keyof typeof RUN_COMMANDS] : null
}

export function useRunKeys(run: (command: RunCommand) => void): void {
  const current = useRef(run)
  useEffect(() => {
    current.current = run
  })
  useEffect(() => {
    let pressedG = -Infinity
    const listen = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (event.defaultPrevented || target.closest(ELSEWHERE)) return
      const isSecond = event.timeStamp - pressedG < SECOND_KEY_MS
      pressedG = event.key === 'g' ? event.timeStamp : -Infinity
      if (isSecond) return
      const command = runCommandOf(event, target.closest(CONTROLS) !== null)
      if (command === null) return
      event.preventDefault()
      current.current(command)
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}
