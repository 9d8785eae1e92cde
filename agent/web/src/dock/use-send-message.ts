/** Sends the typed message. It appears in the chat only once it is in the log. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { useRequestKey } from '../ui/use-request-key.ts'
import type { Carried } from './use-attachments.ts'

export type Sent = Carried & { content: string; on_question: 'answer' | 'pass_over' | 'refuse' }

export function useSendMessage(sessionId: string, onSent: () => void) {
  const queries = useQueryClient()
  const { keyOf, done } = useRequestKey()
  return useMutation({
    mutationFn: (body: Sent) =>
      client.call('sendMessage', {
        params: { id: sessionId },
        body,
        idempotencyKey: keyOf(JSON.stringify(body)),
      }),
    onSuccess: async () => {
      done()
      onSent()
      await refreshSession(queries, sessionId)
    },
  })
}
