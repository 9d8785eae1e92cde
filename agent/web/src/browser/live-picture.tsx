/**
 * The picture of the page. It takes mouse, wheel, touch, keys and paste while the person has control.
 *
 * Keys go to the page only after a click into it; Escape twice releases them. Touch screens use the text
 * field below.
 */
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useRef,
} from 'react'
import type { Input } from './live-socket.ts'
import { keyInput, mouseInput, pointOf, wheelInput } from './page-input.ts'
import { browserWords } from '../words/browser.ts'

const ESCAPES_MS = 600
/** Minimum time between mouse moves that are sent; those in between are dropped. */
const MOVE_MS = 50

type Props = {
  canvas: RefObject<HTMLCanvasElement | null>
  size: RefObject<{ width: number; height: number }>
  drives: boolean
  title: string
  say(input: Input): void
}

export function LivePicture({ canvas, size, drives, title, say }: Props) {
  const escaped = useRef(0)
  const moved = useRef(0)
  const at = (event: { clientX: number; clientY: number }) =>
    canvas.current === null ? null : pointOf(event, canvas.current.getBoundingClientRect(), size.current)

  // React's wheel listeners are passive, so they cannot keep this page from scrolling too.
  useEffect(() => {
    const element = canvas.current
    if (element === null || !drives) return undefined
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault()
      const point = pointOf(event, element.getBoundingClientRect(), size.current)
      if (point !== null) say(wheelInput(point, event))
    }
    element.addEventListener('wheel', onWheel, { passive: false })
    return () => element.removeEventListener('wheel', onWheel)
  }, [canvas, size, drives, say])

  const point = (kind: 'move' | 'down' | 'up') => (event: PointerEvent<HTMLCanvasElement>) => {
    const place = at(event)
    if (!drives || place === null) return
    if (kind === 'move') {
      if (event.timeStamp - moved.current < MOVE_MS) return
      moved.current = event.timeStamp
    }
    if (kind === 'down') {
      event.currentTarget.focus()
      event.currentTarget.setPointerCapture(event.pointerId)
    }
    say(mouseInput(kind, place, event))
  }
  const key = (kind: 'down' | 'up') => (event: KeyboardEvent<HTMLCanvasElement>) => {
    if (!drives || event.nativeEvent.isComposing) return
    // The paste event delivers the text.
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'v') return
    event.preventDefault()
    if (kind === 'down' && event.key === 'Escape') {
      if (event.timeStamp - escaped.current < ESCAPES_MS) event.currentTarget.blur()
      escaped.current = event.timeStamp
    }
    say(keyInput(kind, event))
  }
  const paste = (event: ClipboardEvent<HTMLCanvasElement>) => {
    if (!drives) return
    event.preventDefault()
    say({ t: 'paste', text: event.clipboardData.getData('text/plain') })
  }
  return (
    <canvas
      ref={canvas}
      className="live-picture"
      data-testid="live-picture"
      data-drives={drives || undefined}
      width={1280}
      height={800}
      role={drives ? 'application' : 'img'}
      aria-label={drives ? browserWords.page(title) : browserWords.picture(title)}
      tabIndex={drives ? 0 : -1}
      onPointerDown={point('down')}
      onPointerUp={point('up')}
      onPointerMove={point('move')}
      onContextMenu={event => drives && event.preventDefault()}
      onKeyDown={key('down')}
      onKeyUp={key('up')}
      onPaste={paste}
    />
  )
}
