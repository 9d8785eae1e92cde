/** Creates a schedule: the session that receives its results, the prompt, the times and the limits. */
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import type { ScheduleInput } from '@cairn/protocol'
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { sessionsQuery } from '../queries.ts'
import { firstWhen, timingOf, WhenField } from './when-field.tsx'
import { schedulesWords } from '../words/schedules.ts'
import { generalWords } from '../words/general.ts'

const OVERLAPS = schedulesWords.overlaps
type Overlap = keyof typeof OVERLAPS

function useCreate(onDone: () => void) {
  const queries = useQueryClient()
  // A repeated request must not create a second schedule: one idempotency key for each input.
  const attempt = useRef({ text: '', key: '' })
  return useMutation({
    mutationFn: (body: ScheduleInput & { session_id: string }) => {
      const text = JSON.stringify(body)
      if (attempt.current.text !== text) attempt.current = { text, key: crypto.randomUUID() }
      return client.call('createSchedule', { body, idempotencyKey: attempt.current.key })
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['schedules'] })
      onDone()
    },
  })
}

export function ScheduleForm({ onDone }: { onDone: () => void }) {
  const [given, setSession] = useState('')
  const sessions = useInfiniteQuery(sessionsQuery({})).data?.pages.flatMap(page => page.sessions)
  const session_id = given === '' ? (sessions?.[0]?.id ?? '') : given
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
      <Field label={schedulesWords.postTo}>
        {id => (
          <select
            id={id}
            className="input"
            value={session_id}
            onChange={event => setSession(event.target.value)}
          >
            {(sessions ?? []).map(session => (
              <option key={session.id} value={session.id}>
                {session.title ?? schedulesWords.untitled(session.id.slice(0, 8))}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={schedulesWords.prompt}>
        {id => (
          <textarea
            id={id}
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

function Field({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
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
    <Field label={schedulesWords.ifActive}>
      {id => (
        <select
          id={id}
          className="input"
          value={overlap}
          onChange={event => setOverlap(event.target.value as Overlap)}
        >
          {Object.entries(OVERLAPS).map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
    <Field label={schedulesWords.stopAfter}>
      {id => (
        <input
          id={id}
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
