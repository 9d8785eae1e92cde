/** Forks a session after an event, sends an optional first message to the fork, and opens it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { BodyOf } from '@cairn/protocol'
import { client } from '../api.ts'
import { useRequestKey } from '../ui/use-request-key.ts'

type Fork = { event_id: number; first?: BodyOf<'sendMessage'> }

export function useFork(sessionId: string) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  // If the first message is rejected, a retry (perhaps edited) goes to the fork that was already created.
  const fork = useRequestKey()
  const message = useRequestKey()
  return useMutation({
    mutationFn: async ({ event_id, first }: Fork) => {
      const { id } = await client.call('forkSession', {
        params: { id: sessionId },
        body: { event_id },
        idempotencyKey: fork.keyOf(String(event_id)),
      })
      if (first !== undefined)
        await client.call('sendMessage', {
          params: { id },
          body: first,
          idempotencyKey: message.keyOf(JSON.stringify(first)),
        })
      return id
    },
    onSuccess: async id => {
      fork.done()
      message.done()
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/sessions/$sessionId', params: { sessionId: id } })
    },
  })
}
