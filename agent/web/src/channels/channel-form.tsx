/** Creates or changes a connection. The server defines which fields the platform needs. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { channelsQuery, type Field, formsQuery } from './channel-queries.ts'
import { platformName, stepsOf } from './channel-words.ts'
import { FormField } from './form-field.tsx'
import { secretsOf, type Settings, settingsOf } from './form-values.ts'
import { Picker } from '../ui/picker.tsx'
import { channelsWords } from '../words/channels.ts'
import { generalWords } from '../words/general.ts'

type Given = { id: string; platform: string; settings: Settings; secrets: readonly string[] }
/** `given`: the connection to change; absent: a new one. */
type FormProps = { given?: Given; onDone: () => void }

/** Fields that are always visible; the others have defaults that rarely change. */
const FIRST = new Set(['agent', 'access', 'allow', 'mode', 'groups', 'public_url'])
const isFirst = ({ key, kind, required }: Field): boolean => required || kind === 'secret' || FIRST.has(key)

export function ChannelForm({ given, onDone }: FormProps) {
  const { data: forms = [] } = useQuery(formsQuery)
  const [chosen, setPlatform] = useState('webhook')
  const platform = given?.platform ?? chosen
  const fields = forms.find(form => form.platform === platform)?.fields ?? []
  const save = useSave(given, onDone)
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const before = given?.settings ?? { platform }
    save.mutate({
      name: String(form.get('name') ?? ''),
      settings: settingsOf(before, fields, form),
      secrets: secretsOf(fields, form),
    })
  }
  const shown = (field: Field) => (
    <FormField
      key={`${platform} ${field.key}`}
      field={field}
      settings={given?.settings ?? {}}
      isKept={given?.secrets.includes(field.key) ?? false}
    />
  )
  return (
    <form className="channel-form" onSubmit={submit} data-testid="channel-form">
      {given === undefined && (
        <NewFields platform={platform} platforms={forms.map(form => form.platform)} onChange={setPlatform} />
      )}
      {fields.filter(isFirst).map(shown)}
      <details className="channel-more">
        <summary>{channelsWords.moreSettings}</summary>
        {fields.filter(field => !isFirst(field)).map(shown)}
      </details>
      {save.error && (
        <p className="inline-error" role="alert" data-testid="channel-problem">
          {describeError(save.error)}
        </p>
      )}
      <div className="actions">
        <Button className="button quiet" onPress={onDone}>
          {generalWords.cancel}
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={save.isPending}
          data-testid="save-channel"
        >
          {given === undefined ? channelsWords.connect : channelsWords.save}
        </Button>
      </div>
    </form>
  )
}

type Wish = { name: string; settings: Settings; secrets: Record<string, string> }

function useSave(given: Given | undefined, onDone: () => void) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ name, settings, secrets }: Wish) => {
      if (given === undefined) await client.call('createChannel', { body: { name, settings, secrets } })
      else
        await client.call('changeChannel', { params: { channel_id: given.id }, body: { settings, secrets } })
    },
    meta: { showsError: true },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: channelsQuery.queryKey })
      onDone()
    },
  })
}

type NewProps = { platform: string; platforms: readonly string[]; onChange: (platform: string) => void }

const NewFields = ({ platform, platforms, onChange }: NewProps) => (
  <>
    <Picker
      label={channelsWords.platform}
      isLabelShown
      options={platforms.map(id => ({ id, text: platformName(id) }))}
      value={platform}
      onChange={onChange}
    />
    <ol className="channel-steps">
      {stepsOf(platform).map(step => (
        <li key={step}>{step}</li>
      ))}
    </ol>
    <div className="field">
      <label htmlFor="channel-name">{generalWords.name}</label>
      <input
        id="channel-name"
        className="input"
        name="name"
        required
        maxLength={60}
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
        aria-describedby="channel-name-hint"
      />
      <p className="faint" id="channel-name-hint">
        {channelsWords.nameHint}
      </p>
    </div>
  </>
)
