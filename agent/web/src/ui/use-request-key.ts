/** Idempotency keys for requests that may be repeated. */
import { useRef } from 'react'

/**
 * Returns the same key for the same text until `done`, so that a retry after a lost reply has no second
 * effect.
 */
export function useRequestKey(): { keyOf: (text: string) => string; done: () => void } {
  const attempt = useRef({ text: '', key: '' })
  return {
    keyOf(text) {
      if (attempt.current.text !== text) attempt.current = { text, key: crypto.randomUUID() }
      return attempt.current.key
    },
    done() {
      attempt.current = { text: '', key: '' }
    },
  }
}
