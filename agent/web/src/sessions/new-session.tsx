/** Starts a session; asks which agent only when there are several. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { PlusIcon } from '../ui/icons.tsx'
import { MenuButton } from '../ui/menu-button.tsx'

export function NewSession() {
  const { data: about } = useQuery(aboutQuery)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const create = useMutation({
    mutationFn: (agent: string | undefined) =>
      client.call('createSession', {
        body: agent === undefined ? {} : { agent },
        idempotencyKey: crypto.randomUUID(),
      }),
    onSuccess: async session => {
      queries.setQueryData(['session', session.id], session)
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/sessions/$sessionId', params: { sessionId: session.id } })
    },
  })
  const agents = about?.agents ?? []
  const face = (
    <>
      <PlusIcon />
      New session
    </>
  )
  return agents.length > 1 ? (
    <MenuButton
      className="button primary"
      testId="new-session"
      isDisabled={create.isPending}
      menu={{
        label: 'Agent of the new session',
        entries: agents.map(({ name, model }) => ({ id: name, text: name, detail: model })),
        placement: 'bottom start',
        onChoose: agent => create.mutate(agent),
      }}
    >
      {face}
    </MenuButton>
  ) : (
    <button
      type="button"
      className="button primary"
      data-testid="new-session"
      disabled={create.isPending}
      onClick={() => create.mutate(undefined)}
    >
      {face}
    </button>
  )
}
