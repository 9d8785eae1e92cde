/** Another person published first: both texts, and the choice between them. */
import { Button } from 'react-aria-components'
import { agentsWords } from '../words/agents.ts'
import { SettingDiff } from './setting-diff.tsx'
import { settingsText } from './setting-values.ts'
import type { SettingEditor } from './use-setting-editor.ts'

export function ConflictView({ editor }: { editor: SettingEditor }) {
  const { conflict, draft } = editor
  if (conflict === null || draft === null) return null
  const { changed_by, version, settings } = conflict
  const theirs = settingsText(settings)
  const mine = settingsText(draft.settings)
  return (
    <section className="conflict" role="alert" data-testid="conflict">
      <h3>{agentsWords.conflictTitle}</h3>
      <p>
        {settings === null
          ? agentsWords.conflictRemoved(changed_by, version)
          : agentsWords.conflictText(changed_by, version)}
      </p>
      <div className="conflict-texts">
        <TextOf title={agentsWords.theirs} text={theirs} testId="their-text" />
        <TextOf title={agentsWords.mine} text={mine} testId="my-text" />
      </div>
      <SettingDiff before={theirs} after={mine} />
      <div className="row-buttons">
        <Button className="button" onPress={editor.takeTheirs} data-testid="take-theirs">
          {agentsWords.takeTheirs}
        </Button>
        <Button className="button primary" onPress={editor.keepMine} data-testid="keep-mine">
          {agentsWords.keepMine(version)}
        </Button>
      </div>
    </section>
  )
}

const TextOf = ({ title, text, testId }: { title: string; text: string; testId: string }) => (
  <figure>
    <figcaption>{title}</figcaption>
    <pre data-testid={testId}>{text}</pre>
  </figure>
)
