/**
 * Editing a setting: a draft that survives a reload, publishing it as a new version, and the choice between
 * both texts when another person published first.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '@cairn/client/unchecked'
import { client } from '../api.ts'
import { say } from '../ui/toasts.tsx'
import { agentsWords } from '../words/agents.ts'
import {
  type Kind,
  refreshSettings,
  ROUTES,
  type Settings,
  type SettingVersion,
  versionsQuery,
} from './setting-queries.ts'

/** `base`: the version that the draft was made from; 0: none. */
export type Draft = { base: number; settings: Settings }
type Conflict = Omit<SettingVersion, 'sessions'>
export type FieldErrors = Readonly<Record<string, string>>

export type SettingEditor = {
  draft: Draft | null
  begin(base: number, settings: Settings): void
  change(settings: Settings): void
  discard(): void
  publish(note: string): void
  isPublishing: boolean
  /** Messages by the path of their field. */
  errors: FieldErrors
  error: Error | null
  conflict: Conflict | null
  takeTheirs(): void
  keepMine(): void
}

const keyOf = (kind: Kind, name: string): string => `cairn.draft.${kind}.${name}`

function storedDraft(kind: Kind, name: string): Draft | null {
  try {
    return JSON.parse(localStorage.getItem(keyOf(kind, name)) ?? 'null') as Draft | null
  } catch {
    // A private window may refuse the storage; the draft then lives as long as the page.
    return null
  }
}

function storeDraft(kind: Kind, name: string, draft: Draft | null): void {
  try {
    if (draft === null) localStorage.removeItem(keyOf(kind, name))
    else localStorage.setItem(keyOf(kind, name), JSON.stringify(draft))
  } catch {
    // See storedDraft.
  }
}

export function useSettingEditor(
  kind: Kind,
  name: string,
  onPublished: () => void = () => undefined,
): SettingEditor {
  const queries = useQueryClient()
  const [draft, setDraft] = useState<Draft | null>(() => storedDraft(kind, name))
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const put = (next: Draft | null): void => {
    setDraft(next)
    storeDraft(kind, name, next)
  }
  const publishing = useMutation({
    mutationFn: ({ base, settings, note }: Draft & { note: string }) =>
      client.call(ROUTES[kind].publish, {
        params: { name },
        body: { settings: { ...settings }, base_version: base, ...(note.trim() === '' ? {} : { note }) },
      }),
    meta: { showsError: true },
    onSuccess: async ({ version }) => {
      put(null)
      say(agentsWords.published(name, version))
      await refreshSettings(queries)
      onPublished()
    },
    onError: error => {
      const current = currentIn(error)
      if (current === null) return
      setConflict(current)
      void queries.invalidateQueries({ queryKey: versionsQuery(kind, name).queryKey })
    },
  })
  const { error } = publishing
  return {
    draft,
    begin: (base, settings) => {
      publishing.reset()
      put({ base, settings })
    },
    change: settings => {
      if (draft !== null) put({ ...draft, settings })
    },
    discard() {
      put(null)
      setConflict(null)
      publishing.reset()
    },
    publish: note => {
      if (draft !== null) publishing.mutate({ ...draft, note })
    },
    isPublishing: publishing.isPending,
    errors: errorsIn(error),
    error: conflict === null ? error : null,
    conflict,
    takeTheirs() {
      if (conflict === null) return
      if (conflict.settings === null) put(null)
      else put({ base: conflict.version, settings: conflict.settings })
      setConflict(null)
      publishing.reset()
      void refreshSettings(queries)
    },
    keepMine() {
      if (conflict === null || draft === null) return
      put({ base: conflict.version, settings: draft.settings })
      setConflict(null)
      publishing.reset()
      void refreshSettings(queries)
    },
  }
}

/** What another person published, if that is why the request was rejected. */
function currentIn(error: Error): Conflict | null {
  if (!(error instanceof ApiError) || error.problem.code !== 'version_conflict') return null
  return (error.problem as { current?: Conflict }).current ?? null
}

function errorsIn(error: Error | null): FieldErrors {
  if (!(error instanceof ApiError)) return {}
  return Object.fromEntries(
    (error.problem.errors ?? []).map(({ path, message }) => [path.replace(/^settings\./, ''), message]),
  )
}
