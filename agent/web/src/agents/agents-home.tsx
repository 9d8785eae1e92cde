/** All agents, the way out of the demo, and a new agent. */
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef } from 'react'
import { Button, Input, Label, Text, TextField } from 'react-aria-components'
import { describeError } from '../api.ts'
import { aboutQuery, meQuery } from '../queries.ts'
import { agentsWords } from '../words/agents.ts'
import { TO, toAgent, toPart } from './agents-address.ts'
import { OriginBadge } from './setting-notes.tsx'
import { settingsQuery } from './setting-queries.ts'

/** Focuses the name of a new agent. */
export const NEW_AGENT_HASH = 'add'

export function AgentsHome() {
  const { data, error } = useQuery(settingsQuery('agent'))
  const { data: about } = useQuery(aboutQuery)
  const { data: me } = useQuery(meQuery)
  return (
    <div className="agents-section" data-testid="agents-home">
      {about?.demo === true && (
        <section className="surface agents-demo">
          <h2>{agentsWords.demo}</h2>
          <p className="muted">{agentsWords.demoText}</p>
          {me?.admin === true && (
            <Link
              to={TO}
              params={toPart('models')}
              className="button primary"
              data-testid="connect-first-model"
            >
              {agentsWords.connectModel}
            </Link>
          )}
        </section>
      )}
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      <ul className="list">
        {(data?.items ?? []).map(agent => (
          <li key={agent.name}>
            <Link to={TO} params={toAgent(agent.name)} className="agents-row">
              <span className="agents-name">{agent.name}</span>
              <span className="muted truncate">
                {String(agent.settings['description'] ?? agent.settings['model'] ?? '')}
              </span>
              <OriginBadge kind="agent" setting={agent} />
            </Link>
          </li>
        ))}
      </ul>
      {me?.admin === true && data?.editing === true && <NewAgent />}
    </div>
  )
}

function NewAgent() {
  const navigate = useNavigate()
  const isAsked = useLocation({ select: ({ hash }) => hash === NEW_AGENT_HASH })
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isAsked) field.current?.focus()
  }, [isAsked])
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name')).trim()
    void navigate({ to: TO, params: toAgent(name), hash: 'new' })
  }
  return (
    <form className="agents-form" onSubmit={submit}>
      <TextField
        className="field"
        name="name"
        isRequired
        maxLength={64}
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
      >
        <Label>{agentsWords.newAgentName}</Label>
        <Input className="input" ref={field} data-testid="new-agent-name" />
        <Text slot="description" className="faint">
          {agentsWords.nameHint}
        </Text>
      </TextField>
      <Button className="button" type="submit" data-testid="new-agent">
        {agentsWords.create}
      </Button>
    </form>
  )
}
