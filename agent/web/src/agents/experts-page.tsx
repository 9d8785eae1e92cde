/** Experts: models with a role that agents may ask. */
import { useQuery } from '@tanstack/react-query'
import { aboutQuery } from '../queries.ts'
import { agentsWords } from '../words/agents.ts'
import { NamedSettingPage } from './named-setting-page.tsx'
import { type Form, SettingField } from './setting-field.tsx'

export const ExpertsPage = () => (
  <NamedSettingPage
    kind="expert"
    title={agentsWords.experts}
    add={agentsWords.addExpert}
    none={agentsWords.noExpertsText}
    nameHint={agentsWords.nameHint}
    Fields={ExpertFields}
  />
)

function ExpertFields({ form }: { form: Form }) {
  const { data: about } = useQuery(aboutQuery)
  const { hints } = agentsWords
  return (
    <>
      <SettingField form={form} path="description" isRequired />
      <SettingField form={form} path="system" kind="area" rows={8} isRequired />
      <SettingField form={form} path="model" options={about?.models ?? []} hint={hints.model} />
      <SettingField form={form} path="tools" kind="lines" hint={hints.tools} />
      <SettingField form={form} path="max_iterations" kind="number" />
    </>
  )
}
