/** The versions of a setting: who, when and why, the difference to what is live, and restoring one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { sayError, say } from '../ui/toasts.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { agentsWords } from '../words/agents.ts'
import {
  type Kind,
  refreshSettings,
  ROUTES,
  type SettingDetail,
  type SettingVersion,
  versionsQuery,
} from './setting-queries.ts'
import { SettingDiff } from './setting-diff.tsx'
import { settingsText } from './setting-values.ts'
import type { Draft } from './use-setting-editor.ts'

type Props = { kind: Kind; name: string; detail: SettingDetail | null; draft: Draft | null; canEdit: boolean }

export function VersionsPanel({ kind, name, detail, draft, canEdit }: Props) {
  const { data: versions = [], isSuccess } = useQuery(versionsQuery(kind, name))
  const [compared, setCompared] = useState<number | null>(null)
  const live = versions[0]
  const shown = versions.find(({ version }) => version === compared)
  return (
    <section className="agent-versions" aria-labelledby={`versions-${kind}-${name}`} data-testid="versions">
      <h3 id={`versions-${kind}-${name}`}>{agentsWords.versions}</h3>
      <ol className="version-list">
        {draft !== null && (
          <li className="version" data-draft>
            <span className="mono">{agentsWords.draft.toLowerCase()}</span>
            <span className="version-text">{agentsWords.draftBase(draft.base)}</span>
          </li>
        )}
        {versions.map(version => (
          <VersionRow
            key={version.version}
            kind={kind}
            name={name}
            version={version}
            latest={live?.version ?? 0}
            isLive={version === live && detail?.origin === 'editor'}
            canEdit={canEdit && draft === null}
            isCompared={compared === version.version}
            onCompare={() => setCompared(compared === version.version ? null : version.version)}
          />
        ))}
      </ol>
      {isSuccess && versions.length === 0 && draft === null && (
        <p className="faint">{agentsWords.noVersions}</p>
      )}
      {draft !== null && (
        <Difference
          title={agentsWords.draftAgainst(live?.version ?? 0)}
          before={settingsText(live === undefined ? (detail?.given ?? null) : live.settings)}
          after={settingsText(draft.settings)}
        />
      )}
      {shown !== undefined && (
        <Difference
          title={agentsWords.against(
            shown.version,
            live === undefined ? agentsWords.liveSettings : agentsWords.version(live.version),
          )}
          before={settingsText(shown.settings)}
          after={settingsText(live?.settings ?? null)}
        />
      )}
    </section>
  )
}

function Difference({ title, before, after }: { title: string; before: string; after: string }) {
  return (
    <div className="version-diff" data-testid="version-diff">
      <h3>{title}</h3>
      <SettingDiff before={before} after={after} />
    </div>
  )
}

type RowProps = {
  kind: Kind
  name: string
  version: SettingVersion
  /** The number of the newest version, which a restored one follows. */
  latest: number
  isLive: boolean
  canEdit: boolean
  isCompared: boolean
  onCompare: () => void
}

function VersionRow({ kind, name, version, latest, isLive, canEdit, isCompared, onCompare }: RowProps) {
  const queries = useQueryClient()
  const now = useNow(60_000)
  const number = version.version
  const restore = useMutation({
    mutationFn: () =>
      client.call(ROUTES[kind].restore, {
        params: { name },
        body: { version: number, base_version: latest },
      }),
    onSuccess: ({ version: made }) => say(agentsWords.restoredNow(made, number)),
    onError: sayError,
    onSettled: () => refreshSettings(queries),
  })
  const facts = [
    version.changed_by,
    formatAgo(version.changed_at, now),
    ...(version.sessions === null ? [] : [agentsWords.sessions(version.sessions)]),
  ]
  return (
    <li className="version" data-testid={`version-${number}`}>
      <span className="mono">{agentsWords.version(number)}</span>
      <span className="version-text">
        <span className="version-note">{titleOf(version)}</span>
        <span className="faint">{facts.join(' · ')}</span>
      </span>
      <span className="version-actions">
        {isLive ? (
          <span className="badge live">{agentsWords.liveNow}</span>
        ) : (
          <Button
            className="button quiet small"
            aria-label={agentsWords.compareNamed(number)}
            aria-pressed={isCompared}
            onPress={onCompare}
          >
            {agentsWords.compare}
          </Button>
        )}
        {canEdit && !isLive && version.settings !== null && (
          <Button
            className="button quiet small"
            aria-label={agentsWords.restoreNamed(number)}
            isDisabled={restore.isPending}
            onPress={() => restore.mutate()}
          >
            {agentsWords.restore}
          </Button>
        )}
      </span>
    </li>
  )
}

const titleOf = ({ change, note, restored_from, version }: SettingVersion): string =>
  change === 'remove'
    ? agentsWords.removal
    : (note ??
      (restored_from !== null
        ? agentsWords.restored(restored_from)
        : version === 1
          ? agentsWords.firstVersion
          : agentsWords.changed))
