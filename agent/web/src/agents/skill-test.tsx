/** Runs one message with a skill and without it, and shows both answers. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { visibleText } from '@cairn/protocol'
import { type FormEvent, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { Picker } from '../ui/picker.tsx'
import { Status } from '../ui/status.tsx'
import { agentsWords } from '../words/agents.ts'
import { generalWords } from '../words/general.ts'

export function SkillTest({ name }: { name: string }) {
  const id = useId()
  const agents = useQuery(aboutQuery).data?.agents ?? []
  const [chosen, setAgent] = useState<string | null>(null)
  const agent = chosen ?? agents[0]?.name ?? ''
  const run = useMutation({
    mutationFn: (body: { agent: string; message: string }) =>
      client.call('testSkill', { params: { name }, body }),
    meta: { showsError: true },
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    run.mutate({ agent, message: String(form.get('message')).trim() })
  }
  return (
    <details className="skill-test">
      <summary>{agentsWords.testSkill}</summary>
      <form className="skill-test-form" onSubmit={submit}>
        <Picker
          label={agentsWords.testAgent}
          isLabelShown
          options={agents.map(({ name }) => ({ id: name, text: visibleText(name) }))}
          value={agent}
          onChange={setAgent}
        />
        <div className="field">
          <label htmlFor={`${id}-message`}>{agentsWords.testMessage}</label>
          <textarea
            id={`${id}-message`}
            name="message"
            className="input setting-area"
            rows={2}
            required
            data-testid="skill-test-message"
          />
        </div>
        <p className="faint">{agentsWords.publishFirst}</p>
        <Button className="button" type="submit" isDisabled={run.isPending} data-testid="run-skill-test">
          {agentsWords.runTest}
        </Button>
      </form>
      {run.isError && (
        <p className="inline-error" role="alert">
          {describeError(run.error)}
        </p>
      )}
      {run.data !== undefined && (
        <div className="skill-answers">
          <AnswerOf title={agentsWords.withSkill} sessionId={run.data.with_skill} />
          <AnswerOf title={agentsWords.withoutSkill} sessionId={run.data.without_skill} />
        </div>
      )}
    </details>
  )
}

/** The last answer of a session, read until its turn is over. */
function AnswerOf({ title, sessionId }: { title: string; sessionId: string }) {
  const { data } = useQuery({
    queryKey: ['skill-test', sessionId],
    queryFn: async ({ signal }) => {
      const { events } = await client.call('pollEvents', {
        params: { id: sessionId },
        query: { after: 0, limit: 1000 },
        signal,
      })
      const said = events.findLast(event => event.type === 'llm.response')
      const end = events.find(event => event.type === 'session.complete' || event.type === 'session.fail')
      const data = (said?.data ?? {}) as { message?: { content?: string } }
      return { text: data.message?.content ?? '', end: end?.type ?? null }
    },
    refetchInterval: ({ state }) => (state.data?.end ? false : 1_000),
  })
  const kind = data?.end === 'session.fail' ? 'failed' : data?.end ? 'done' : 'running'
  const word =
    kind === 'failed' ? agentsWords.failed : kind === 'running' ? agentsWords.testing : generalWords.done
  return (
    <section className="surface skill-answer" data-testid="skill-answer" data-state={kind}>
      <header className="agent-head">
        <h3>{title}</h3>
        <Status kind={kind} word={word} />
      </header>
      <p className="skill-text">{data?.text}</p>
      <Link to="/sessions/$sessionId" params={{ sessionId }} className="button small">
        {agentsWords.openSession}
      </Link>
    </section>
  )
}
