/** The unsent text of each session, kept when the tab changes, and its field. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'

const drafts = new Map<string, string>()
const MAX_HEIGHT = 240

export type MessageDraft = {
  text: string
  caret: number
  change: (text: string, caret: number) => void
  moveCaret: (caret: number) => void
  /** Enters another text, and returns to the field. */
  replace: (text: string) => void
}

export function useDraft(sessionId: string): [MessageDraft, RefObject<HTMLTextAreaElement | null>] {
  const [{ text, caret }, set] = useState(() => {
    const text = drafts.get(sessionId) ?? ''
    return { text, caret: text.length }
  })
  const field = useGrowingField(text)
  const wantedCaret = useRef<number | null>(null)
  useEffect(() => {
    drafts.set(sessionId, text)
  }, [sessionId, text])
  useLayoutEffect(() => {
    if (wantedCaret.current === null) return
    field.current?.setSelectionRange(wantedCaret.current, wantedCaret.current)
    wantedCaret.current = null
  })
  const change = (next: string, to: number) => {
    if (field.current?.value !== next) wantedCaret.current = to
    set({ text: next, caret: to })
  }
  const replace = (next: string) => {
    change(next, next.length)
    field.current?.focus()
  }
  const draft: MessageDraft = {
    text,
    caret,
    change,
    moveCaret: to => {
      if (to !== caret) set({ text, caret: to })
    },
    replace,
  }
  return [draft, field]
}

/**
 * A field that grows with its text. It takes the focus on devices that can hover, which usually have a
 * keyboard.
 */
function useGrowingField(text: string): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    const box = field.current
    if (!box) return
    box.style.height = 'auto'
    if (text !== '') box.style.height = `${Math.min(box.scrollHeight, MAX_HEIGHT)}px`
  }, [text])
  useEffect(() => {
    if (window.matchMedia('(hover: hover)').matches) field.current?.focus()
  }, [])
  return field
}
