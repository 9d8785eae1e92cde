/**
 * Short messages in the corner: errors of the person's last action, and confirmations of invisible effects.
 */
import { useEffect, useSyncExternalStore } from 'react'
import { describeError } from '../api.ts'
import { AlertIcon, CheckIcon, CloseIcon } from './icons.tsx'
import { generalWords } from '../words/general.ts'

type Action = { label: string; run: () => void }
type Toast = { id: number; level: 'info' | 'error'; text: string; action?: Action | undefined }

let toasts: readonly Toast[] = []
let lastId = 0
const listeners = new Set<() => void>()
const set = (next: readonly Toast[]) => {
  toasts = next
  for (const listener of listeners) listener()
}
const dismiss = (id: number) => set(toasts.filter(toast => toast.id !== id))

/** Returns a function that takes the message away. `action` is offered with it, for some seconds longer. */
export function say(text: string, level: Toast['level'] = 'info', action?: Action): () => void {
  const id = (lastId += 1)
  set([...toasts.slice(-3), { id, level, text, action }])
  return () => dismiss(id)
}

/** For the `onError` of a mutation. */
export const sayError = (error: unknown): void => void say(describeError(error), 'error')

const STAYS_MS = { info: 3500, error: 9000 }
const ACTION_MS = 5000

function ToastView({ toast }: { toast: Toast }) {
  useEffect(() => {
    const timer = setTimeout(() => dismiss(toast.id), toast.action ? ACTION_MS : STAYS_MS[toast.level])
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
      {toast.action && (
        <button
          type="button"
          className="button small"
          data-testid="toast-action"
          onClick={() => {
            dismiss(toast.id)
            toast.action?.run()
          }}
        >
          {toast.action.label}
        </button>
      )}
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
