/** The retry and resume buttons of a failed or paused session. The chat says why it failed. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import type { Session } from '@cairn/protocol'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { composerWords } from '../words/composer.ts'
import { generalWords } from '../words/general.ts'

export function StateBar({ session }: { session: Session | undefined }) {
  const queries = useQueryClient()
  const move = useMutation({
    mutationFn: ({ route, id }: { route: 'retrySession' | 'resumeSession'; id: string }) =>
      client.call(route, { params: { id } }),
    onSuccess: ({ id }) => refreshSession(queries, id),
  })
  if (session?.state !== 'failed' && session?.state !== 'paused') return null
  const { id, state } = session
  return (
    <div className="state-bar" data-state={state} role="status">
      <span>{state === 'failed' ? composerWords.saved : composerWords.paused}</span>
      {state === 'failed' ? (
        <Button
          className="button"
          isDisabled={move.isPending}
          onPress={() => move.mutate({ route: 'retrySession', id })}
          data-testid="retry"
        >
          {generalWords.retry}
        </Button>
      ) : (
        <Button
          className="button"
          isDisabled={move.isPending}
          onPress={() => move.mutate({ route: 'resumeSession', id })}
          data-testid="resume"
        >
          {generalWords.resume}
        </Button>
      )}
    </div>
  )
}
