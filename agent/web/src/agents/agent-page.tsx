/** One agent: its settings with their origin, the editor, and its versions. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { Button } from 'react-aria-components'
import { client, describeError, isMissing } from '../api.ts'
import { meQuery } from '../queries.ts'
import { Empty } from '../ui/empty.tsx'
import { sayError } from '../ui/toasts.tsx'
import { agentsWords } from '../words/agents.ts'
import { AgentEditor } from './agent-editor.tsx'
import { AgentView } from './agent-view.tsx'
import { ConflictView } from './conflict.tsx'
import { PublishBar } from './publish-bar.tsx'
import { OriginBadge, SettingNotes } from './setting-notes.tsx'
import {
  refreshSettings,
  type SettingDetail,
  type Settings,
  settingQuery,
  settingsQuery,
} from './setting-queries.ts'
import { valueAt, withValue } from './setting-values.ts'
import { useSettingEditor } from './use-setting-editor.ts'
import { VersionsPanel } from './versions-panel.tsx'

/** Another agent has its own draft. */
export const AgentPage = ({ name }: { name: string }) => <OneAgent key={name} name={name} />

function OneAgent({ name }: { name: string }) {
  const isNamed = useLocation({ select: ({ hash }) => hash === 'new' })
  const { data: me } = useQuery(meQuery)
  const { data: list } = useQuery(settingsQuery('agent'))
  const { data, error } = useQuery({ ...settingQuery('agent', name), retry: false })
  const detail = data ?? null
  const editor = useSettingEditor('agent', name)
  const isNew = isMissing(error)
  const canEdit = me?.admin === true && (detail?.editable ?? list?.editing) === true
  const { draft, begin } = editor
  useEffect(() => {
    if (isNew && isNamed && canEdit && draft === null) begin(0, {})
  }, [isNew, isNamed, canEdit, draft, begin])
  if (error && !isNew)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  if (isNew && draft === null) return <Empty title={describeError(error)} />
  if (detail === null && draft === null) return null
  return (
    <div className="agent" data-testid="agent-page">
      <div className="agent-main">
        <header className="agent-head">
          <h2>{name}</h2>
          {detail !== null && <OriginBadge kind="agent" setting={detail} />}
          {draft !== null && <span className="badge waiting">{agentsWords.draft}</span>}
          <span className="page-actions">
            {detail !== null && canEdit && draft === null && (
              <AgentActions name={name} detail={detail} onEdit={begin} />
            )}
          </span>
        </header>
        {me?.admin === false && <p className="setting-note">{agentsWords.readOnly}</p>}
        {detail !== null && draft === null && (
          <SettingNotes
            setting={detail}
            canEdit={canEdit}
            onCopy={() => begin(detail.version, copyOf(detail))}
          />
        )}
        {draft === null ? (
          detail !== null && <AgentView detail={detail} />
        ) : (
          <>
            <ConflictView editor={editor} />
            <AgentEditor
              form={{
                settings: draft.settings,
                defaults: detail?.origin === 'file' ? {} : (detail?.settings ?? {}),
                errors: editor.errors,
                change: editor.change,
              }}
            />
            <PublishBar editor={editor} version={draft.base} />
          </>
        )}
      </div>
      <VersionsPanel kind="agent" name={name} detail={detail} draft={draft} canEdit={canEdit} />
    </div>
  )
}

/** What cairn.yaml sets, or what was edited here before. */
const copyOf = ({ given, in_file }: SettingDetail) => given ?? in_file ?? {}

type ActionsProps = {
  name: string
  detail: SettingDetail
  onEdit: (base: number, settings: Settings) => void
}

function AgentActions({ name, detail, onEdit }: ActionsProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const remove = useMutation({
    mutationFn: () =>
      client.call('removeAgent', { params: { name }, query: { base_version: detail.version } }),
    onSuccess: () => navigate({ to: '/agents' }),
    onError: sayError,
    onSettled: () => refreshSettings(queries),
  })
  const { origin, overridden, version } = detail
  return (
    <>
      {detail.given !== null && (
        <Button
          className="button quiet"
          aria-label={agentsWords.removeNamed(name)}
          isDisabled={remove.isPending}
          onPress={() => remove.mutate()}
          data-testid="remove-agent"
        >
          {agentsWords.remove}
        </Button>
      )}
      {(origin !== 'file' || overridden) && (
        <Button
          className="button"
          onPress={() => onEdit(version, detail.given ?? draftOf(detail))}
          data-testid="edit-agent"
        >
          {agentsWords.edit}
        </Button>
      )}
    </>
  )
}

/** A built-in agent has no settings of its own: editing begins with its prompt and its approvals. */
function draftOf({ settings }: SettingDetail): Settings {
  const asked = valueAt(settings, 'governance.require_approval')
  const draft = withValue({}, 'system', settings['system'])
  return Array.isArray(asked) && asked.length > 0
    ? withValue(draft, 'governance.require_approval', asked)
    : draft
}
