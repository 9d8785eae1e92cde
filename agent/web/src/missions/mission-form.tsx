/** Starts a mission: the goal, the criteria of the evaluator, the agent, and the limits. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type BodyOf, visibleText } from '@cairn/protocol'
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { aboutQuery } from '../queries.ts'
import { Field } from '../ui/field.tsx'
import { Picker } from '../ui/picker.tsx'
import { useRequestKey } from '../ui/use-request-key.ts'
import { generalWords } from '../words/general.ts'
import { missionsWords } from '../words/missions.ts'

type Entries = Readonly<Record<'goal' | 'criteria' | 'agent' | 'rounds' | 'cost' | 'minutes', string>>
const NO_ENTRIES: Entries = { goal: '', criteria: '', agent: '', rounds: '5', cost: '', minutes: '' }

/** The request; fields without an entry are left to the service. */
function bodyOf({ goal, criteria, agent, rounds, cost, minutes }: Entries): BodyOf<'createMission'> {
  const budget = {
    ...(cost !== '' && { max_cost_usd: Number(cost) }),
    ...(minutes !== '' && { max_minutes: Number(minutes) }),
  }
  const lines = criteria.split('\n').flatMap(line => (line.trim() === '' ? [] : [`- ${line.trim()}`]))
  return {
    description: goal.trim(),
    rubric: { type: 'text', content: lines.join('\n') },
    ...(agent !== '' && { agent }),
    ...(rounds !== '' && { max_iterations: Number(rounds) }),
    ...(Object.keys(budget).length > 0 && { budget }),
  }
}

export function MissionForm({ onCancel }: { onCancel: () => void }) {
  const [entries, setEntries] = useState(NO_ENTRIES)
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { keyOf } = useRequestKey()
  const create = useMutation({
    meta: { showsError: true },
    mutationFn: (body: BodyOf<'createMission'>) =>
      client.call('createMission', { body, idempotencyKey: keyOf(JSON.stringify(body)) }),
    onSuccess: async ({ mission_id: missionId }) => {
      await queries.invalidateQueries({ queryKey: ['missions'] })
      await navigate({ to: '/missions/$missionId', params: { missionId } })
    },
  })
  const field = (name: keyof Entries): FieldProps => ({
    className: 'input',
    value: entries[name],
    onChange: (event: { target: { value: string } }) =>
      setEntries({ ...entries, [name]: event.target.value }),
    'data-testid': `mission-${name}`,
  })
  return (
    <form
      className="surface mission-form"
      data-testid="mission-form"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        create.mutate(bodyOf(entries))
      }}
    >
      <Field label={missionsWords.goal}>
        {control => (
          <textarea
            {...control}
            rows={2}
            required
            placeholder={missionsWords.goalExample}
            {...field('goal')}
          />
        )}
      </Field>
      <Field label={missionsWords.criteriaLines}>
        {control => (
          <textarea
            {...control}
            rows={3}
            required
            placeholder={missionsWords.criteriaExample}
            {...field('criteria')}
          />
        )}
      </Field>
      <Limits field={field} agent={entries.agent} onAgent={agent => setEntries({ ...entries, agent })} />
      {create.error && (
        <p className="inline-error" role="alert">
          {describeError(create.error)}
        </p>
      )}
      <div className="actions">
        <Button className="button quiet" onPress={onCancel}>
          {generalWords.cancel}
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={create.isPending || entries.goal.trim() === '' || entries.criteria.trim() === ''}
          data-testid="create-mission"
        >
          {missionsWords.create}
        </Button>
      </div>
    </form>
  )
}

type FieldProps = {
  className: string
  value: string
  onChange: (event: { target: { value: string } }) => void
  'data-testid': string
}

type LimitsProps = {
  field: (name: Exclude<keyof Entries, 'agent'>) => FieldProps
  /** Empty: the first one, which is the default of the service. */
  agent: string
  onAgent: (name: string) => void
}

function Limits({ field, agent, onAgent }: LimitsProps) {
  const agents = useQuery(aboutQuery).data?.agents ?? []
  return (
    <div className="mission-limits">
      <Picker
        label={missionsWords.agent}
        isLabelShown
        options={agents.map(({ name }) => ({ id: name, text: visibleText(name) }))}
        value={agent === '' ? (agents[0]?.name ?? null) : agent}
        onChange={onAgent}
        testId="mission-agent"
      />
      <Field label={missionsWords.roundsMax}>
        {control => <input {...control} type="number" min={1} max={20} required {...field('rounds')} />}
      </Field>
      <Field label={missionsWords.costMax}>
        {control => (
          <input
            {...control}
            type="number"
            min={0.01}
            step={0.01}
            placeholder={missionsWords.noLimit}
            {...field('cost')}
          />
        )}
      </Field>
      <Field label={missionsWords.minutesMax}>
        {control => (
          <input
            {...control}
            type="number"
            min={1}
            placeholder={missionsWords.noLimit}
            {...field('minutes')}
          />
        )}
      </Field>
    </div>
  )
}
