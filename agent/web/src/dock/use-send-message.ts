/** Sending what was typed: nothing is shown before the log has it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import type { Carried } from './use-attachments.ts'

export type Sent = Carried & { content: string; on_question: 'answer' | 'pass_over' | 'refuse' }

export function useSendMessage(sessionId: string, onSent: () => void) {
  const queries = useQueryClient()
  // Repeating a send that may have arrived must not say it twice: one key for one text.
  const attempt = useRef({ text: '', key: '' })
  return useMutation({
    mutationFn: (body: Sent) => {
      const text = JSON.stringify(body)
      if (attempt.current.text !== text) attempt.current = { text, key: crypto.randomUUID() }
      return client.call('sendMessage', {
        params: { id: sessionId },
        body,
        idempotencyKey: attempt.current.key,
      })
    },
    onSuccess: async () => {
      attempt.current = { text: '', key: '' }
      onSent()
      await refreshSession(queries, sessionId)
    },
  })
}
