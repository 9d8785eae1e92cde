/** The form of an agent. Everything without a field of its own is in "All settings". */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { aboutQuery } from '../queries.ts'
import { agentsWords } from '../words/agents.ts'
import { type Form, SettingField } from './setting-field.tsx'
import { type Settings, settingsQuery } from './setting-queries.ts'
import { valueAt, withValue } from './setting-values.ts'
import { ToolRows } from './tool-rows.tsx'

export function AgentEditor({ form }: { form: Form }) {
  const { data: about } = useQuery(aboutQuery)
  const models = about?.models ?? []
  const { sections, hints } = agentsWords
  return (
    <div className="agent-sections" data-testid="agent-editor">
      <section className="agent-section">
        <h3>{sections.instructions}</h3>
        <SettingField form={form} path="system" kind="area" rows={10} />
        <SettingField form={form} path="description" hint={hints.description} />
      </section>
      <section className="agent-section">
        <h3>{sections.model}</h3>
        <div className="setting-columns">
          <SettingField form={form} path="model" options={models} hint={hints.model} />
          <SettingField form={form} path="summary_model" options={models} />
          <SettingField form={form} path="escalation_model" options={models} />
          <SettingField form={form} path="temperature" kind="number" />
          <SettingField form={form} path="max_tokens" kind="number" />
        </div>
      </section>
      <section className="agent-section">
        <h3>{sections.tools}</h3>
        <ToolRows form={form} />
        <p className="faint">{agentsWords.askOnly}</p>
      </section>
      <section className="agent-section">
        <h3>{sections.experts}</h3>
        <ExpertChoices form={form} />
      </section>
      <section className="agent-section">
        <h3>{sections.limits}</h3>
        <SettingField form={form} path="workers.enabled" kind="switch" />
        <div className="setting-columns">
          {LIMITS.map(path => (
            <SettingField key={path} form={form} path={path} kind="number" />
          ))}
        </div>
      </section>
      <details className="agent-section">
        <summary>{sections.all}</summary>
        <AllSettings key={JSON.stringify(form.settings)} form={form} />
      </details>
    </div>
  )
}

const LIMITS = [
  'max_iterations',
  'workers.max_open',
  'workers.max_total',
  'workers.budget.max_minutes',
  'workers.budget.max_cost_usd',
  'goals.max_cost_usd',
  'missions.budget.max_cost_usd',
  'inbox.checkin_minutes',
]

function ExpertChoices({ form }: { form: Form }) {
  const { data } = useQuery(settingsQuery('expert'))
  const value = valueAt(form.settings, 'experts')
  const chosen = Array.isArray(value) ? value.map(String) : []
  const names = [...new Set([...(data?.items ?? []).map(({ name }) => name), ...chosen])]
  if (names.length === 0) return <p className="faint">{agentsWords.noExperts}</p>
  const choose = (name: string, isChosen: boolean): void => {
    const next = isChosen ? [...chosen, name] : chosen.filter(each => each !== name)
    form.change(withValue(form.settings, 'experts', next.length === 0 ? undefined : next))
  }
  return names.map(name => (
    <label key={name} className="agents-check">
      <input
        type="checkbox"
        checked={chosen.includes(name)}
        onChange={event => choose(name, event.target.checked)}
      />{' '}
      {name}
    </label>
  ))
}

/** The text is taken when it is valid JSON and the field is left. */
function AllSettings({ form }: { form: Form }) {
  const [text, setText] = useState(() => JSON.stringify(form.settings, null, 2))
  const [isWrong, setWrong] = useState(false)
  const take = (): void => {
    try {
      const parsed: unknown = JSON.parse(text)
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return setWrong(true)
      form.change(parsed as Settings)
    } catch {
      // The message below the field says so.
      setWrong(true)
    }
  }
  return (
    <div className="field">
      <label htmlFor="all-settings">{agentsWords.sections.all}</label>
      <textarea
        id="all-settings"
        className="input setting-area mono"
        rows={12}
        value={text}
        aria-invalid={isWrong || undefined}
        aria-describedby="all-settings-hint"
        onChange={event => {
          setText(event.target.value)
          setWrong(false)
        }}
        onBlur={take}
      />
      <p className={isWrong ? 'inline-error' : 'faint'} id="all-settings-hint">
        {isWrong ? agentsWords.notJson : agentsWords.allHint}
      </p>
    </div>
  )
}
