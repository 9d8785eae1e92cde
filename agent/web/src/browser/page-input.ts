/** What a person does over the picture, as the browser's page is told of it. */
import type { Input } from './live-socket.ts'

type Modified = { altKey: boolean; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean }

/** Alt 1, Control 2, Meta 4, Shift 8, as in the debugging protocol. */
export const modsOf = ({ altKey, ctrlKey, metaKey, shiftKey }: Modified): number =>
  (altKey ? 1 : 0) + (ctrlKey ? 2 : 0) + (metaKey ? 4 : 0) + (shiftKey ? 8 : 0)

const BUTTONS = ['left', 'middle', 'right'] as const

export type PageRect = { left: number; top: number; width: number; height: number }

/** A point over the picture as a point of the page; null: beside it. */
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

/** A key that writes something carries it as text, unless a shortcut is meant. */
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
