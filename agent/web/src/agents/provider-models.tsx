/** The models of a provider: those of its settings and those that its server lists, one of them the default. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import { client } from '../api.ts'
import { say, sayError } from '../ui/toasts.tsx'
import { agentsWords } from '../words/agents.ts'
import { refreshSettings, type Setting } from './setting-queries.ts'

/** More than a person reads; the field takes any other name. */
const SHOWN = 12

type Props = {
  provider: Setting
  /** Names that the server gave. */
  listed: readonly string[]
  defaultModel: string | null
  onTest: (model: string) => void
}

export function ProviderModels({ provider, listed, defaultModel, onTest }: Props) {
  const queries = useQueryClient()
  const { name, settings } = provider
  const [isWhole, setWhole] = useState(false)
  const choose = useMutation({
    mutationFn: (model: string) => client.call('chooseDefaultModel', { body: { model } }),
    onSuccess: (_, model) => say(agentsWords.defaultChosen(model)),
    onError: sayError,
    onSettled: () => refreshSettings(queries),
  })
  const configured = Object.keys((settings['models'] ?? {}) as object)
  const current = defaultModel?.startsWith(`${name}/`) === true ? [defaultModel.slice(name.length + 1)] : []
  const models = [...new Set([...current, ...configured, ...listed])]
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    choose.mutate(`${name}/${String(new FormData(event.currentTarget).get('model')).trim()}`)
  }
  if (models.length === 0 && listed.length === 0)
    return (
      <form className="secret-form" onSubmit={submit}>
        <TextField className="field" name="model" isRequired>
          <Label>{agentsWords.enterModel}</Label>
          <Input className="input mono" data-testid={`model-name-${name}`} />
        </TextField>
        <Button className="button" type="submit" isDisabled={choose.isPending}>
          {agentsWords.asDefault}
        </Button>
      </form>
    )
  const shown = isWhole ? models : models.slice(0, SHOWN)
  return (
    <>
      {listed.length > 0 && <p className="faint">{agentsWords.modelsListed(listed.length)}</p>}
      <ul className="list provider-models" aria-label={agentsWords.modelsOf(name)}>
        {shown.map(model => (
          <li key={model} className="provider-model">
            <span className="mono">{model}</span>
            {defaultModel === `${name}/${model}` ? (
              <span className="badge live">{agentsWords.isDefault}</span>
            ) : (
              <Button
                className="button small"
                aria-label={agentsWords.defaultNamed(model)}
                isDisabled={choose.isPending}
                onPress={() => choose.mutate(`${name}/${model}`)}
                data-testid={`use-${model}`}
              >
                {agentsWords.asDefault}
              </Button>
            )}
            <Button
              className="button small quiet"
              aria-label={agentsWords.testModel(model)}
              onPress={() => onTest(model)}
              data-testid={`test-${model}`}
            >
              {agentsWords.test}
            </Button>
          </li>
        ))}
      </ul>
      {shown.length < models.length && (
        <Button className="button small quiet" onPress={() => setWhole(true)}>
          {agentsWords.allModels(models.length)}
        </Button>
      )}
    </>
  )
}
