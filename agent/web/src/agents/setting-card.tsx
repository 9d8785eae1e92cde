/** A provider, server, skill or expert: what is in effect, its editor, and its versions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ComponentType, type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { meQuery } from '../queries.ts'
import { sayError } from '../ui/toasts.tsx'
import { agentsWords } from '../words/agents.ts'
import { ConflictView } from './conflict.tsx'
import { PublishBar } from './publish-bar.tsx'
import type { Form } from './setting-field.tsx'
import { OriginBadge, SettingNotes } from './setting-notes.tsx'
import { type Kind, refreshSettings, ROUTES, type Setting, settingQuery } from './setting-queries.ts'
import { useSettingEditor } from './use-setting-editor.ts'
import { VersionsPanel } from './versions-panel.tsx'

type Props = {
  kind: Kind
  setting: Setting
  /** One line that says what it is. */
  facts: ReactNode
  /** The fields of the editor. */
  Fields: ComponentType<{ form: Form }>
  /** Keys, tests and whatever else belongs to it. */
  children?: ReactNode
}

export function SettingCard({ kind, setting, facts, Fields, children }: Props) {
  const { name } = setting
  const { data: me } = useQuery(meQuery)
  const [isOpen, setOpen] = useState(false)
  const editor = useSettingEditor(kind, name)
  const { draft } = editor
  const { data } = useQuery({ ...settingQuery(kind, name), enabled: isOpen || draft !== null })
  const detail = data ?? null
  const canEdit = me?.admin === true && setting.editable
  const begin = (): void => {
    if (detail !== null) editor.begin(detail.version, detail.given ?? detail.in_file ?? {})
  }
  return (
    <li className="surface setting-card" data-testid={`${kind}-${name}`}>
      <header className="agent-head">
        <h3>{name}</h3>
        <OriginBadge kind={kind} setting={setting} />
        <Button
          className="button quiet small setting-open"
          aria-expanded={isOpen}
          aria-label={`${agentsWords.versions}, ${name}`}
          onPress={() => setOpen(!isOpen)}
          data-testid={`open-${name}`}
        >
          {agentsWords.versions}
        </Button>
      </header>
      <p className="muted setting-facts">{facts}</p>
      {setting.used_by.length > 0 && (
        <p className="faint">{agentsWords.usedBy(setting.used_by.join(', '))}</p>
      )}
      {draft === null && <SettingNotes setting={setting} canEdit={false} onCopy={begin} />}
      {draft === null && children}
      {(isOpen || draft !== null) && (
        <div className="setting-detail">
          {draft === null
            ? canEdit && (
                <CardActions kind={kind} setting={setting} isReady={detail !== null} onEdit={begin} />
              )
            : detail !== null && (
                <>
                  <ConflictView editor={editor} />
                  <Fields
                    form={{
                      settings: draft.settings,
                      defaults: detail.origin === 'file' ? {} : detail.settings,
                      errors: editor.errors,
                      change: editor.change,
                    }}
                  />
                  <PublishBar editor={editor} version={draft.base} />
                </>
              )}
          <VersionsPanel kind={kind} name={name} detail={detail} draft={draft} canEdit={canEdit} />
        </div>
      )}
    </li>
  )
}

type ActionsProps = { kind: Kind; setting: Setting; isReady: boolean; onEdit: () => void }

function CardActions({ kind, setting, isReady, onEdit }: ActionsProps) {
  const queries = useQueryClient()
  const { name, origin, version, overridden } = setting
  const remove = useMutation({
    mutationFn: () =>
      client.call(ROUTES[kind].remove, { params: { name }, query: { base_version: version } }),
    onError: sayError,
    onSettled: () => refreshSettings(queries),
  })
  return (
    <div className="row-buttons">
      <Button className="button small" isDisabled={!isReady} onPress={onEdit} data-testid="edit-setting">
        {origin === 'file' && !overridden ? agentsWords.makeEditable : agentsWords.edit}
      </Button>
      {(origin === 'editor' || overridden) && (
        <Button
          className="button small quiet"
          aria-label={agentsWords.removeNamed(name)}
          isDisabled={remove.isPending}
          onPress={() => remove.mutate()}
        >
          {agentsWords.remove}
        </Button>
      )}
    </div>
  )
}
