/** The completions of the word at the caret, and which one is selected. */
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { SLASH_COMMANDS } from '@cairn/state'
import { aboutQuery, treeQuery } from '../queries.ts'
import { type Candidate, completed, fitting, type Wanted, wantedAt } from './completion.ts'

export type Completion = {
  candidates: readonly Candidate[]
  active: number
  choose: (candidate: Candidate) => void
  /** Handles the keys of the list; true if the key was one of them. */
  onKeyDown: (event: KeyboardEvent) => boolean
}

const COMMANDS: readonly Candidate[] = SLASH_COMMANDS.map(({ name, usage, does }) => ({
  insert: `/${name}`,
  label: usage,
  help: does,
}))

export function useCompletion(
  sessionId: string,
  { text, caret }: { text: string; caret: number },
  change: (text: string, caret: number) => void,
): Completion {
  const wanted = wantedAt(text, caret)
  const key = wanted === null ? null : `${wanted.kind} ${wanted.query}`
  const [dismissed, setDismissed] = useState<string | null>(null)
  const [place, setPlace] = useState<{ key: string | null; active: number }>({ key: null, active: 0 })
  const found = useCandidates(sessionId, wanted)
  const candidates = wanted === null || dismissed === key ? [] : found
  const active = Math.min(place.key === key ? place.active : 0, candidates.length - 1)
  const choose = (candidate: Candidate) => {
    if (wanted === null) return
    const next = completed(text, wanted, candidate)
    change(next.text, next.caret)
  }
  const move = (by: number) =>
    setPlace({ key, active: (active + by + candidates.length) % candidates.length })
  const onKeyDown = (event: KeyboardEvent): boolean => {
    const candidate = candidates[active]
    if (candidate === undefined || event.nativeEvent.isComposing) return false
    switch (event.key) {
      case 'ArrowDown':
        move(1)
        break
      case 'ArrowUp':
        move(-1)
        break
      case 'Escape':
        setDismissed(key)
        break
      case 'Tab':
        choose(candidate)
        break
      case 'Enter':
        // A fully typed command is sent.
        if (candidates.some(({ insert }) => insert === text.trim())) return false
        choose(candidate)
        break
      default:
        return false
    }
    event.preventDefault()
    return true
  }
  return { candidates, active, choose, onKeyDown }
}

/** Commands and skills, or files of the workspace. The files are queried at the first `@`. */
function useCandidates(sessionId: string, wanted: Wanted | null): Candidate[] {
  const { data: about } = useQuery(aboutQuery)
  const { data: tree } = useQuery({ ...treeQuery(sessionId, 0), enabled: wanted?.kind === 'file' })
  if (wanted === null) return []
  if (wanted.kind === 'file')
    return fitting(
      (tree?.entries ?? []).map(({ path, kind }) => ({
        insert: `@${path}`,
        label: kind === 'dir' ? `${path}/` : path,
        help: '',
      })),
      wanted.query,
    )
  const skills = (about?.skills ?? []).map(({ name, description }) => ({
    insert: `/${name}`,
    label: `/${name}`,
    help: description,
  }))
  return fitting([...COMMANDS, ...skills], wanted.query)
}
