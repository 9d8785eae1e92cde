/** Connects a provider: its address and key, then a test, so that a mistake shows at once. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { Picker } from '../ui/picker.tsx'
import { agentsWords } from '../words/agents.ts'
import { refreshSettings } from './setting-queries.ts'

const PRESETS = {
  openai: { kind: 'openai', name: 'openai', url: 'https://api.openai.com/v1' },
  anthropic: { kind: 'anthropic', name: 'anthropic', url: 'https://api.anthropic.com' },
  other: { kind: 'openai', name: '', url: '' },
} as const
type Preset = keyof typeof PRESETS

export function NewProvider({ onDone }: { onDone: () => void }) {
  const queries = useQueryClient()
  const [preset, setPreset] = useState<Preset>('openai')
  const { kind, name: suggested, url } = PRESETS[preset]
  const connect = useMutation({
    mutationFn: async ({ name, base_url, key }: Record<'name' | 'base_url' | 'key', string>) => {
      const settings = { kind, ...(base_url === '' ? {} : { base_url }) }
      await client.call('publishProvider', { params: { name }, body: { settings, base_version: 0 } })
      if (key !== '') await client.call('setProviderKey', { params: { name }, body: { key } })
    },
    meta: { showsError: true },
    onSuccess: onDone,
    onSettled: () => refreshSettings(queries),
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (field: string): string => String(form.get(field) ?? '').trim()
    connect.mutate({ name: text('name'), base_url: text('base_url'), key: text('key') })
  }
  return (
    <form className="surface setting-form" onSubmit={submit} key={preset} data-testid="new-provider">
      <Picker
        label={agentsWords.provider}
        isLabelShown
        options={(Object.keys(PRESETS) as Preset[]).map(each => ({
          id: each,
          text: agentsWords.presets[each],
        }))}
        value={preset}
        onChange={setPreset}
        testId="provider-preset"
      />
      <FormLine name="name" label={agentsWords.skillName} value={suggested} testId="provider-name" />
      <FormLine name="base_url" label={agentsWords.fields['base_url']!} value={url} testId="provider-url" />
      <FormLine
        name="key"
        label={agentsWords.key}
        value=""
        hint={agentsWords.keyHint}
        isSecret
        isOptional={preset === 'other'}
        testId="provider-key"
      />
      {connect.isError && (
        <p className="inline-error" role="alert">
          {describeError(connect.error)}
        </p>
      )}
      <div className="row-buttons">
        <Button
          className="button primary"
          type="submit"
          isDisabled={connect.isPending}
          data-testid="connect-provider"
        >
          {agentsWords.connect}
        </Button>
      </div>
    </form>
  )
}

type LineProps = {
  name: string
  label: string
  value: string
  hint?: string
  isSecret?: boolean
  isOptional?: boolean
  testId: string
}

export function FormLine({
  name,
  label,
  value,
  hint,
  isSecret = false,
  isOptional = false,
  testId,
}: LineProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        name={name}
        className={isSecret ? 'input mono' : 'input'}
        type={isSecret ? 'password' : 'text'}
        autoComplete="off"
        required={!isOptional}
        defaultValue={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        data-testid={testId}
      />
      {hint !== undefined && (
        <p className="faint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
