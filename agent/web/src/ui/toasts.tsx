/**
 * Short messages in the corner: errors of the person's last action, and confirmations of invisible effects.
 */
import { useEffect, useSyncExternalStore } from 'react'
import { describeError } from '../api.ts'
import { AlertIcon, CheckIcon, CloseIcon } from './icons.tsx'
import { generalWords } from '../words/general.ts'

type Toast = { id: number; level: 'info' | 'error'; text: string }

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()
const set = (next: readonly Toast[]) => {
  toasts = next
  for (const listener of listeners) listener()
}
const dismiss = (id: number) => set(toasts.filter(toast => toast.id !== id))

export function say(text: string, level: Toast['level'] = 'info'): void {
  lastId += 1
  set([...toasts.slice(-3), { id: lastId, level, text }])
}

/** For the `onError` of a mutation. */
export const sayError = (error: unknown): void => say(describeError(error), 'error')

const STAYS_MS = { info: 3500, error: 9000 }

function ToastView({ toast }: { toast: Toast }) {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(toast.id), STAYS_MS[toast.level])
    return () => clearTimeout(timer)
  }, [toast])
  return (
    <div
      className="toast"
      data-level={toast.level}
      role={toast.level === 'error' ? 'alert' : 'status'}
      data-testid="toast"
    >
      {toast.level === 'error' ? <AlertIcon /> : <CheckIcon />}
      <span>{toast.text}</span>
      <button
        type="button"
        className="button quiet square"
        aria-label={generalWords.dismiss}
        onClick={() => dismiss(toast.id)}
      >
        <CloseIcon />
      </button>
    </div>
  )
}

export function Toasts() {
  const shown = useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <section className="toasts" aria-label={generalWords.messages}>
      {shown.map(toast => (
        <ToastView key={toast.id} toast={toast} />
      ))}
    </section>
  )
}
