/** Where a setting comes from, what overrides it, and what is wrong with it. */
import { Button } from 'react-aria-components'
import { agentsWords } from '../words/agents.ts'
import type { Kind, Setting } from './setting-queries.ts'

export function OriginBadge({ kind, setting }: { kind: Kind; setting: Setting }) {
  const { origin, version, file_line } = setting
  if (origin === 'editor') return <span className="badge live">{agentsWords.live(version)}</span>
  if (origin === 'default') return <span className="badge">{agentsWords.builtIn}</span>
  return (
    <span className="badge">
      {kind === 'skill' ? agentsWords.definedInFolder : agentsWords.definedInFile(file_line)}
    </span>
  )
}

type Props = {
  setting: Setting
  canEdit: boolean
  /** Copies what cairn.yaml defines into a draft. */
  onCopy: () => void
}

export function SettingNotes({ setting, canEdit, onCopy }: Props) {
  const { origin, overridden, file_line, version, problems, editable, settings } = setting
  const isGone = Object.keys(settings).length === 0 && version > 0
  return (
    <>
      {!editable && <p className="setting-note">{agentsWords.editingOff}</p>}
      {isGone && <p className="setting-note">{agentsWords.removed}</p>}
      {overridden && (
        <p className="setting-note" data-kind="warn" data-testid="overridden">
          <strong>{agentsWords.overridden(file_line)}.</strong> {agentsWords.overriddenText(version)}
        </p>
      )}
      {origin === 'file' && !overridden && canEdit && (
        <p className="setting-note">
          <span>{agentsWords.makeEditableHint}</span>
          <Button className="button small" onPress={onCopy} data-testid="make-editable">
            {agentsWords.makeEditable}
          </Button>
        </p>
      )}
      {problems.length > 0 && (
        <div className="setting-note" data-kind="warn" data-testid="problems">
          <strong>{agentsWords.problems}</strong>
          <ul>
            {problems.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                {path !== '' && <code>{path}</code>} {message}
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  )
}
