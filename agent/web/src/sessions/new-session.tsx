/** Starts a session; asks which agent only when there are several. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Button, Menu, MenuItem, MenuTrigger, Popover } from 'react-aria-components'
import { client } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { PlusIcon } from '../ui/icons.tsx'

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
  const button = (
    <Button
      className="button primary"
      data-testid="new-session"
      isDisabled={create.isPending}
      {...(agents.length > 1 ? {} : { onPress: () => create.mutate(undefined) })}
    >
      <PlusIcon />
      New session
    </Button>
  )
  if (agents.length < 2) return button
  return (
    <MenuTrigger>
      {button}
      <Popover className="popover" placement="bottom start">
        <Menu
          className="menu"
          aria-label="Agent of the new session"
          onAction={key => create.mutate(String(key))}
        >
          {agents.map(agent => (
            <MenuItem className="menu-item" key={agent.name} id={agent.name} textValue={agent.name}>
              <span>{agent.name}</span>
              <span className="faint">{agent.model}</span>
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}
