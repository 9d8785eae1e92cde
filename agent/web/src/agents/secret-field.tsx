/** A secret: its state, and a field that sets it. What is written here is never shown again. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import { describeError } from '../api.ts'
import { say } from '../ui/toasts.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { agentsWords } from '../words/agents.ts'
import { refreshSettings, type Setting } from './setting-queries.ts'

type Props = {
  secret: Setting['secrets'][number]
  label: string
  canEdit: boolean
  /** Null removes it. */
  save: (value: string | null) => Promise<unknown>
}

export function SecretField({ secret, label, canEdit, save }: Props) {
  const queries = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const now = useNow(60_000)
  const { state, changed_at, changed_by } = secret
  const saving = useMutation({
    mutationFn: save,
    meta: { showsError: true },
    onSuccess: async () => {
      setOpen(false)
      say(agentsWords.keySaved)
      await refreshSettings(queries)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const element = event.currentTarget
    const value = String(new FormData(element).get('secret'))
    saving.mutate(value, { onSettled: () => element.reset() })
  }
  const isSet = state === 'set'
  return (
    <div className="secret" data-testid={`secret-${secret.name}`} data-state={state}>
      <span className="secret-name">{label}</span>
      <span className={state === 'missing' || state === 'unreadable' ? 'secret-missing' : 'faint'}>
        {state === 'set'
          ? agentsWords.setBy(changed_at === null ? '' : formatAgo(changed_at, now), changed_by ?? '')
          : agentsWords.keyStates[state]}
      </span>
      {canEdit && state !== 'environment' && !isOpen && (
        <span className="row-buttons">
          <Button className="button small" onPress={() => setOpen(true)} data-testid="open-secret">
            {isSet ? agentsWords.replaceKey : agentsWords.setKey}
          </Button>
          {isSet && (
            <Button className="button small quiet" onPress={() => saving.mutate(null)}>
              {agentsWords.removeKey}
            </Button>
          )}
        </span>
      )}
      {isOpen && (
        <form className="secret-form" onSubmit={submit}>
          <TextField className="field" name="secret" type="password" isRequired autoComplete="off" autoFocus>
            <Label>{agentsWords.secretValue(label)}</Label>
            <Input className="input mono" data-testid="secret-value" />
          </TextField>
          <Button
            className="button primary"
            type="submit"
            isDisabled={saving.isPending}
            data-testid="save-secret"
          >
            {agentsWords.saveKey}
          </Button>
          <p className="faint">{agentsWords.keyHint}</p>
        </form>
      )}
      {saving.isError && (
        <p className="inline-error" role="alert">
          {describeError(saving.error)}
        </p>
      )}
    </div>
  )
}
