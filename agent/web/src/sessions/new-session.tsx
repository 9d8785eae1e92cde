/** Starts a session; offers a choice of agent and model only if there are several. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { lazy } from 'react'
import type { BodyOf } from '@cairn/protocol'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { PlusIcon } from '../ui/icons.tsx'
import { OpenerButton } from '../ui/opener-button.tsx'
import { sessionsWords } from '../words/sessions.ts'

const NewSessionMenu = lazy(() => import('./new-session-menu.tsx'))

export function NewSession() {
  const { data: about } = useQuery(aboutQuery)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (body: BodyOf<'createSession'>) =>
      client.call('createSession', { body, idempotencyKey: crypto.randomUUID() }),
    onSuccess: async session => {
      queries.setQueryData(['session', session.id], session)
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/sessions/$sessionId', params: { sessionId: session.id } })
    },
  })
  const face = (
    <>
      <PlusIcon />
      {sessionsWords.newSession}
    </>
  )
  return about !== undefined && about.agents.length + about.models.length > 2 ? (
    <OpenerButton
      className="button primary"
      testId="new-session"
      isDisabled={create.isPending}
      renderOpen={(button, close) => (
        <NewSessionMenu about={about} button={button} onChoose={create.mutate} onClose={close} />
      )}
    >
      {face}
    </OpenerButton>
  ) : (
    <button
      type="button"
      className="button primary"
      data-testid="new-session"
      disabled={create.isPending}
      onClick={() => create.mutate({})}
    >
      {face}
    </button>
  )
}
