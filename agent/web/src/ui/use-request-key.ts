/** Keys for requests that may be asked again. */
import { useRef } from 'react'

/**
 * One key for one text, until `done`: who asks again because the answer did not come must not have it done
 * twice.
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
