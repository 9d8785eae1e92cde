/** Converts the person's input on the picture to input events of the browser's page. */
import type { Input } from './live-socket.ts'

type Modified = { altKey: boolean; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean }

/** Alt 1, Control 2, Meta 4, Shift 8, as in the Chrome DevTools Protocol. */
export const modsOf = ({ altKey, ctrlKey, metaKey, shiftKey }: Modified): number =>
  (altKey ? 1 : 0) + (ctrlKey ? 2 : 0) + (metaKey ? 4 : 0) + (shiftKey ? 8 : 0)

const BUTTONS = ['left', 'middle', 'right'] as const

export type PageRect = { left: number; top: number; width: number; height: number }

/** Converts a point of the picture to page coordinates; null outside of it. */
export function pointOf(
  { clientX, clientY }: { clientX: number; clientY: number },
  picture: PageRect,
  page: { width: number; height: number },
): { x: number; y: number } | null {
  const x = ((clientX - picture.left) / picture.width) * page.width
  const y = ((clientY - picture.top) / picture.height) * page.height
  return x < 0 || y < 0 || x > page.width || y > page.height ? null : { x: Math.round(x), y: Math.round(y) }
}

export const mouseInput = (
  kind: 'move' | 'down' | 'up',
  at: { x: number; y: number },
  event: Modified & { button: number; detail: number },
): Input => ({
  t: 'mouse',
  kind,
  ...at,
  button: kind === 'move' ? 'none' : (BUTTONS[event.button] ?? 'left'),
  clicks: Math.min(Math.max(event.detail, 1), 3),
  mods: modsOf(event),
})

export const wheelInput = (
  at: { x: number; y: number },
  event: Modified & { deltaX: number; deltaY: number },
): Input => ({ t: 'mouse', kind: 'wheel', ...at, dx: event.deltaX, dy: event.deltaY, mods: modsOf(event) })

/** A key that writes a character carries it as text, except in a shortcut. */
export function keyInput(kind: 'down' | 'up', event: Modified & { key: string; code: string }): Input {
  const writes = [...event.key].length === 1 && !event.ctrlKey && !event.metaKey
  return {
    t: 'key',
    kind,
    key: event.key,
    code: event.code,
    text: kind === 'down' && writes ? event.key : '',
    mods: modsOf(event),
  }
}
