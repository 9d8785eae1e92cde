/** Model providers, their keys and models, and the default model. */
import { useMutation } from '@tanstack/react-query'
import { client } from '../api.ts'
import { agentsWords } from '../words/agents.ts'
import { ConnectionList, ConnectionTest } from './connection-list.tsx'
import { ModelRows } from './model-rows.tsx'
import { NewProvider } from './new-provider.tsx'
import { ProviderModels } from './provider-models.tsx'
import { SecretField } from './secret-field.tsx'
import { SettingCard } from './setting-card.tsx'
import { type Form, SettingField } from './setting-field.tsx'
import type { Setting } from './setting-queries.ts'
import { TestResult } from './test-result.tsx'

export const ModelsPage = () => (
  <ConnectionList
    kind="provider"
    title={agentsWords.models}
    add={agentsWords.addProvider}
    none={agentsWords.noProviders}
    isBuiltIn={({ settings }) => settings['kind'] === 'scripted'}
    testIds={{ list: 'providers', add: 'add-provider' }}
    NewForm={NewProvider}
  >
    {(provider, page) => <ProviderCard key={provider.name} provider={provider} {...page} />}
  </ConnectionList>
)

type CardProps = { provider: Setting; defaultModel: string | null; isAdmin: boolean }

function ProviderCard({ provider, defaultModel, isAdmin }: CardProps) {
  const { name, settings, secrets, editable } = provider
  const kind = String(settings['kind']) as keyof typeof agentsWords.kinds
  const test = useMutation({
    mutationFn: (model?: string) =>
      client.call('testProvider', { params: { name }, body: model === undefined ? {} : { model } }),
    meta: { showsError: true },
  })
  return (
    <SettingCard
      kind="provider"
      setting={provider}
      facts={[agentsWords.kinds[kind], settings['base_url']].filter(Boolean).join(' · ')}
      Fields={ProviderFields}
    >
      {secrets.map(secret => (
        <SecretField
          key={secret.name}
          secret={secret}
          label={agentsWords.key}
          canEdit={isAdmin && editable}
          save={value =>
            value === null
              ? client.call('removeProviderKey', { params: { name } })
              : client.call('setProviderKey', { params: { name }, body: { key: value } })
          }
        />
      ))}
      {isAdmin && kind !== 'scripted' && (
        <>
          <ConnectionTest
            name={name}
            isPending={test.isPending}
            onTest={() => test.mutate(undefined)}
            testId="test-provider"
          />
          <TestResult result={test.data} error={test.error} isPending={test.isPending} />
          <ProviderModels
            provider={provider}
            listed={test.data?.models ?? []}
            defaultModel={defaultModel}
            onTest={model => test.mutate(model)}
          />
        </>
      )}
    </SettingCard>
  )
}

const ProviderFields = ({ form }: { form: Form }) => (
  <>
    <SettingField form={form} path="base_url" />
    <ModelRows form={form} />
  </>
)
