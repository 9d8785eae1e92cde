/** Handles the keys of the EVENTS tab, in the grid and anywhere on the page where they have no other use. */
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { commandOf, type EventCommand, type KeyPlace } from './event-commands.ts'

type AnyKeyboardEvent = KeyboardEvent | globalThis.KeyboardEvent

const ELSEWHERE =
  'input, textarea, select, [contenteditable], [role="dialog"], [role="menu"], [role="listbox"], ' +
  '[role="tree"]'
const CONTROLS = 'a, button, summary, [tabindex]'

/** Handles keys of the page; returns the handler for keys in the grid. */
export function useEventKeys(run: (command: EventCommand) => void): (event: KeyboardEvent) => void {
  const obey = (event: AnyKeyboardEvent, place: KeyPlace) => {
    const command = commandOf(event, place)
    if (command === null) return
    event.preventDefault()
    run(command)
  }
  const obeyNow = useRef(obey)
  useEffect(() => {
    obeyNow.current = obey
  })
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent) => {
      const target = event.target as HTMLElement
      if (!event.defaultPrevented && !target.closest(ELSEWHERE))
        obeyNow.current(event, target.closest(CONTROLS) ? 'control' : 'page')
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
  return event => obey(event, 'grid')
}
