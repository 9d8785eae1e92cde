/** Skills: procedures that agents load when they fit, and a test of one. */
import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../queries.ts'
import { agentsWords } from '../words/agents.ts'
import { NamedSettingPage } from './named-setting-page.tsx'
import { type Form, SettingField } from './setting-field.tsx'
import { SkillTest } from './skill-test.tsx'

export function SkillsPage() {
  const { data: me } = useQuery(meQuery)
  return (
    <NamedSettingPage
      kind="skill"
      title={agentsWords.skills}
      add={agentsWords.addSkill}
      none={agentsWords.noSkills}
      nameHint={agentsWords.skillNameHint}
      Fields={SkillFields}
    >
      {skill => me?.admin === true && <SkillTest name={skill.name} />}
    </NamedSettingPage>
  )
}

function SkillFields({ form }: { form: Form }) {
  const { hints } = agentsWords
  return (
    <>
      <SettingField form={form} path="description" hint={hints.skillDescription} isRequired />
      <SettingField
        form={form}
        path="instructions"
        kind="area"
        rows={12}
        hint={hints.skillInstructions}
        isRequired
      />
    </>
  )
}
