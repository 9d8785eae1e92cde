/** Creates a schedule: the session that receives its results, the prompt, the times and the limits. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { type ScheduleInput, visibleText } from '@cairn/protocol'
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { sessionsQuery } from '../sessions/sessions-query.ts'
import { Field } from '../ui/field.tsx'
import { optionsOf, Picker } from '../ui/picker.tsx'
import { useRequestKey } from '../ui/use-request-key.ts'
import { firstWhen, timingOf, WhenField } from './when-field.tsx'
import { schedulesWords } from '../words/schedules.ts'
import { generalWords } from '../words/general.ts'

const OVERLAPS = schedulesWords.overlaps
type Overlap = keyof typeof OVERLAPS

function useCreate(onDone: () => void) {
  const queries = useQueryClient()
  const { keyOf } = useRequestKey()
  return useMutation({
    meta: { showsError: true },
    mutationFn: (body: ScheduleInput & { session_id: string }) =>
      client.call('createSchedule', { body, idempotencyKey: keyOf(JSON.stringify(body)) }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['schedules'] })
      onDone()
    },
  })
}

export function ScheduleForm({ onDone }: { onDone: () => void }) {
  const [given, setSession] = useState('')
  const sessions = useInfiniteQuery(sessionsQuery({})).data?.pages.flatMap(page => page.sessions) ?? []
  const session_id = given === '' ? (sessions[0]?.id ?? '') : given
  const [prompt, setPrompt] = useState('')
  const [when, setWhen] = useState(firstWhen)
  const [overlap, setOverlap] = useState<Overlap>('skip')
  const [maxRuns, setMaxRuns] = useState('')
  const create = useCreate(onDone)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const limit = maxRuns === '' ? {} : { max_runs: Number(maxRuns) }
    create.mutate({ session_id, prompt, overlap, ...timingOf(when), ...limit })
  }
  return (
    <form className="schedule-form" onSubmit={submit} data-testid="schedule-form">
      <Picker
        label={schedulesWords.postTo}
        isLabelShown
        options={sessions.map(({ id, title }) => ({
          id,
          text: visibleText(title ?? schedulesWords.untitled(id.slice(0, 8))),
        }))}
        value={session_id === '' ? null : session_id}
        onChange={setSession}
      />
      <Field label={schedulesWords.prompt}>
        {control => (
          <textarea
            {...control}
            className="input"
            rows={3}
            required
            value={prompt}
            onChange={event => setPrompt(event.target.value)}
            data-testid="schedule-prompt"
          />
        )}
      </Field>
      <WhenField when={when} onChange={setWhen} />
      <Limits overlap={overlap} setOverlap={setOverlap} maxRuns={maxRuns} setMaxRuns={setMaxRuns} />
      {create.error && (
        <p className="inline-error" role="alert">
          {describeError(create.error)}
        </p>
      )}
      <div className="actions">
        <Button className="button quiet" onPress={onDone}>
          {generalWords.cancel}
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={create.isPending || session_id === '' || prompt.trim() === ''}
          data-testid="create-schedule"
        >
          {schedulesWords.create}
        </Button>
      </div>
    </form>
  )
}

type LimitsProps = {
  overlap: Overlap
  setOverlap: (overlap: Overlap) => void
  maxRuns: string
  setMaxRuns: (text: string) => void
}

const Limits = ({ overlap, setOverlap, maxRuns, setMaxRuns }: LimitsProps) => (
  <div className="schedule-row">
    <Picker
      label={schedulesWords.ifActive}
      isLabelShown
      options={optionsOf<Overlap>(OVERLAPS)}
      value={overlap}
      onChange={setOverlap}
    />
    <Field label={schedulesWords.stopAfter}>
      {control => (
        <input
          {...control}
          className="input"
          type="number"
          min={1}
          placeholder={schedulesWords.noLimit}
          value={maxRuns}
          onChange={event => setMaxRuns(event.target.value)}
        />
      )}
    </Field>
  </div>
)
