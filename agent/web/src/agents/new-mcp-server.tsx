/** Adds an MCP server with its key. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError } from '../api.ts'
import { optionsOf, Picker } from '../ui/picker.tsx'
import { agentsWords } from '../words/agents.ts'
import { FormLine } from './new-provider.tsx'
import { refreshSettings } from './setting-queries.ts'
import { listOf } from './setting-values.ts'

type Transport = 'http' | 'command'

export function NewMcpServer({ onDone }: { onDone: () => void }) {
  const id = useId()
  const queries = useQueryClient()
  const [transport, setTransport] = useState<Transport>('http')
  const add = useMutation({
    mutationFn: async ({
      name,
      settings,
      secret,
    }: {
      name: string
      settings: Record<string, unknown>
      secret: { name: string; value: string } | null
    }) => {
      await client.call('publishMcpServer', { params: { name }, body: { settings, base_version: 0 } })
      if (secret !== null)
        await client.call('setMcpServerSecrets', {
          params: { name },
          body: { secrets: { [secret.name]: secret.value } },
        })
    },
    meta: { showsError: true },
    onSuccess: onDone,
    onSettled: () => refreshSettings(queries),
  })
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (field: string): string => String(form.get(field) ?? '').trim()
    const [field, value] = [text('secret_name'), text('secret')]
    const named = field === '' ? [] : [field]
    const settings =
      transport === 'http'
        ? { url: text('url'), headers: named }
        : { command: text('command'), args: listOf(text('args')) ?? [], env: named }
    add.mutate({
      name: text('name'),
      settings,
      secret: field === '' || value === '' ? null : { name: field, value },
    })
  }
  const isHttp = transport === 'http'
  return (
    <form className="surface setting-form" onSubmit={submit} data-testid="new-mcp-server">
      <FormLine name="name" label={agentsWords.skillName} value="" testId="mcp-name" />
      <Picker
        label={agentsWords.transport}
        isLabelShown
        options={optionsOf<Transport>({ http: agentsWords.overHttp, command: agentsWords.asCommand })}
        value={transport}
        onChange={setTransport}
      />
      <ServerFields isHttp={isHttp} id={id} />
      {add.isError && (
        <p className="inline-error" role="alert">
          {describeError(add.error)}
        </p>
      )}
      <div className="row-buttons">
        <Button className="button primary" type="submit" isDisabled={add.isPending} data-testid="connect-mcp">
          {agentsWords.connect}
        </Button>
      </div>
    </form>
  )
}

const ServerFields = ({ isHttp, id }: { isHttp: boolean; id: string }) => (
  <>
    {isHttp ? (
      <FormLine name="url" label={agentsWords.fields['url']!} value="" testId="mcp-url" />
    ) : (
      <>
        <FormLine name="command" label={agentsWords.fields['command']!} value="" testId="mcp-command" />
        <div className="field">
          <label htmlFor={`${id}-args`}>{agentsWords.args}</label>
          <textarea id={`${id}-args`} name="args" className="input setting-area" rows={2} />
        </div>
      </>
    )}
    <FormLine
      name="secret_name"
      label={isHttp ? agentsWords.headerName : agentsWords.variableName}
      value=""
      isOptional
      testId="mcp-secret-name"
    />
    <FormLine
      name="secret"
      label={agentsWords.key}
      value=""
      hint={agentsWords.keyHint}
      isSecret
      isOptional
      testId="mcp-secret"
    />
  </>
)
