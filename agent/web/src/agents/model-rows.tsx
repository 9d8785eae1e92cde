/** The models of a provider with their prices and context windows, one row each. */
import { Button } from 'react-aria-components'
import { PlusIcon } from '../ui/icons.tsx'
import { agentsWords } from '../words/agents.ts'
import type { Form } from './setting-field.tsx'
import type { Settings } from './setting-queries.ts'
import { valueAt, withValue } from './setting-values.ts'

const NUMBERS = ['input', 'output', 'context_window'] as const
const LABELS = {
  input: agentsWords.inputPrice,
  output: agentsWords.outputPrice,
  context_window: agentsWords.contextWindow,
}

/** The rows in their order; a name may be empty or repeated while it is typed. */
export function ModelRows({ form }: { form: Form }) {
  const models = Object.entries((valueAt(form.settings, 'models') ?? {}) as Record<string, Settings>)
  const put = (next: readonly (readonly [string, Settings])[]): void =>
    form.change(withValue(form.settings, 'models', next.length === 0 ? undefined : Object.fromEntries(next)))
  return (
    <fieldset className="model-rows">
      <legend>{agentsWords.prices}</legend>
      <p className="faint">{agentsWords.pricesHint}</p>
      {models.map(([name, rates], at) => (
        <div key={at} className="model-row">
          <input
            className="input mono"
            aria-label={agentsWords.enterModel}
            placeholder={agentsWords.enterModel}
            value={name}
            onChange={event => put(models.with(at, [event.target.value, rates]))}
          />
          {NUMBERS.map(key => (
            <input
              key={key}
              className="input"
              type="number"
              min="0"
              step="any"
              aria-label={`${LABELS[key]}, ${name}`}
              placeholder={LABELS[key]}
              value={rates[key] === undefined ? '' : String(rates[key])}
              onChange={event => {
                const value = event.target.value === '' ? undefined : Number(event.target.value)
                put(models.with(at, [name, withValue(rates, key, value)]))
              }}
            />
          ))}
          <Button
            className="button small quiet"
            aria-label={agentsWords.removeModel(name)}
            onPress={() => put(models.filter((_, index) => index !== at))}
          >
            {agentsWords.remove}
          </Button>
        </div>
      ))}
      <Button
        className="button small"
        isDisabled={models.some(([name]) => name === '')}
        onPress={() => put([...models, ['', {}]])}
      >
        <PlusIcon />
        {agentsWords.addModel}
      </Button>
    </fieldset>
  )
}
