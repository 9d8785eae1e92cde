/** Filters and sorts the list: by state, agent, channel, cost and time. */
import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { SESSION_SORTS, SESSION_STATES, visibleText } from '@cairn/protocol'
import { aboutQuery } from '../queries.ts'
import { AGES, countFilters, type Filters } from '../session-filters.ts'
import { optionsOf, Picker } from '../ui/picker.tsx'
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
        anyWord={sessionMenuWords.any}
        value={filters.state}
        options={SESSION_STATES.map(id => ({ id, text: STATE_WORDS[id] }))}
        onChange={state => onChange({ state })}
      />
      <Choice
        label={generalWords.agent}
        anyWord={sessionMenuWords.any}
        value={filters.agent}
        options={agents.map(id => ({ id, text: visibleText(id) }))}
        onChange={agent => onChange({ agent })}
      />
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
        anyWord={sessionMenuWords.anyTime}
        value={filters.age}
        options={optionsOf(AGES)}
        onChange={age => onChange({ age })}
      />
      <Picker
        label={sessionMenuWords.order}
        isLabelShown
        options={SESSION_SORTS.map(id => ({ id, text: SORT_WORDS[id] }))}
        value={filters.sort ?? 'created'}
        onChange={sort => onChange({ sort })}
      />
    </>
  )
}

type FieldProps = { label: string; value: string; onChange: (value: string | undefined) => void }

/** The filters have no value where anything is wanted, and an option needs an id. */
const ANY = ' any'

type ChoiceProps<T extends string> = {
  label: string
  anyWord: string
  value: T | undefined
  options: readonly { id: T; text: string }[]
  onChange: (value: T | undefined) => void
}

const Choice = <T extends string>({ label, anyWord, value, options, onChange }: ChoiceProps<T>) => (
  <Picker
    label={label}
    isLabelShown
    options={[{ id: ANY, text: anyWord }, ...options]}
    value={value ?? ANY}
    onChange={chosen => onChange(options.find(({ id }) => id === chosen)?.id)}
  />
)

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
