/** Filters and sorts the list: by state, agent, channel, cost and time. */
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import { SESSION_SORTS, SESSION_STATES, type SessionSort } from '@cairn/protocol'
import { aboutQuery } from '../queries.ts'
import { AGES, countFilters, type Filters } from '../session-filters.ts'
import { STATE_WORDS } from './session-state.tsx'
import { sessionsWords } from '../words/sessions.ts'
import { sessionMenuWords } from '../words/session-menu.ts'
import { generalWords } from '../words/general.ts'

const SORT_WORDS = sessionMenuWords.sorts

const NOTHING = { state: undefined, agent: undefined, channel: undefined, cost: undefined, age: undefined }

type Props = {
  filters: Filters
  onChange: (change: { [K in keyof Filters]: Filters[K] | undefined }) => void
}

export default function FilterPanel({ filters, onChange }: Props) {
  return (
    <section className="filters" aria-label={sessionsWords.filterAndSort}>
      <FilterFields filters={filters} onChange={onChange} />
      {countFilters(filters) > 0 && (
        <button type="button" className="button" onClick={() => onChange(NOTHING)}>
          {sessionMenuWords.clearFilters}
        </button>
      )}
    </section>
  )
}

function FilterFields({ filters, onChange }: Props) {
  const { data: about } = useQuery(aboutQuery)
  const known = (about?.agents ?? []).map(({ name }) => name)
  const agents = [...new Set([...known, ...(filters.agent === undefined ? [] : [filters.agent])])]
  return (
    <>
      <Choice
        label={generalWords.state}
        value={filters.state ?? ''}
        onChange={state => onChange({ state: state as Filters['state'] })}
      >
        <option value="">{sessionMenuWords.any}</option>
        {SESSION_STATES.map(state => (
          <option key={state} value={state}>
            {STATE_WORDS[state]}
          </option>
        ))}
      </Choice>
      <Choice label={generalWords.agent} value={filters.agent ?? ''} onChange={agent => onChange({ agent })}>
        <option value="">{sessionMenuWords.any}</option>
        {agents.map(agent => (
          <option key={agent}>{agent}</option>
        ))}
      </Choice>
      <Entry
        label={sessionMenuWords.channel}
        value={filters.channel ?? ''}
        placeholder={sessionMenuWords.any}
        onChange={channel => onChange({ channel })}
      />
      <Entry
        label={sessionMenuWords.minCost}
        type="number"
        value={filters.cost === undefined ? '' : String(filters.cost)}
        placeholder="0"
        onChange={cost => onChange({ cost: cost === undefined ? undefined : Number(cost) })}
      />
      <Choice
        label={sessionMenuWords.changed}
        value={filters.age ?? ''}
        onChange={age => onChange({ age: age as Filters['age'] })}
      >
        <option value="">{sessionMenuWords.anyTime}</option>
        {Object.entries(AGES).map(([age, words]) => (
          <option key={age} value={age}>
            {words}
          </option>
        ))}
      </Choice>
      <Choice
        label={sessionMenuWords.order}
        value={filters.sort ?? 'created'}
        onChange={sort => onChange({ sort: sort as SessionSort })}
      >
        {SESSION_SORTS.map(sort => (
          <option key={sort} value={sort}>
            {SORT_WORDS[sort]}
          </option>
        ))}
      </Choice>
    </>
  )
}

type FieldProps = { label: string; value: string; onChange: (value: string | undefined) => void }

function Choice({ label, value, onChange, children }: FieldProps & { children: ReactNode }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="input"
        value={value}
        onChange={event => onChange(event.target.value === '' ? undefined : event.target.value)}
      >
        {children}
      </select>
    </div>
  )
}

function Entry({ label, value, onChange, ...more }: FieldProps & { type?: 'number'; placeholder: string }) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        defaultValue={value}
        min={0}
        onChange={event => onChange(event.target.value.trim() === '' ? undefined : event.target.value.trim())}
        {...more}
      />
    </div>
  )
}
