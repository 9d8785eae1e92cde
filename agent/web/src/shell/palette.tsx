/** The command palette (Ctrl+K): finds a page, a session or a command by a part of its name. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type KeyboardEvent, useState } from 'react'
import { client } from '../api.ts'
import { ModalDialog } from '../ui/modal.tsx'
import { usePageEntries, useFoundSessions, useSessionEntries } from './palette-entries.ts'
import { type Entry, fittingEntries } from './palette-fit.ts'
import './palette.css'
import { paletteWords } from '../words/palette.ts'

const LIST_ID = 'palette-list'
const optionId = (at: number) => `palette-option-${at}`

// React.lazy needs a default export.
export default function Palette({ onClose }: { onClose: () => void }) {
  return (
    <ModalDialog className="modal palette" label={paletteWords.palette} onClose={onClose}>
      <Chooser onClose={onClose} />
    </ModalDialog>
  )
}

/** Creates a session with the default agent. */
function useNewEntry(): Entry {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const create = useMutation({
    mutationFn: () => client.call('createSession', { body: {}, idempotencyKey: crypto.randomUUID() }),
    onSuccess: async ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/sessions/$sessionId', params: { sessionId: id } })
    },
  })
  return {
    id: 'new',
    label: paletteWords.newSession,
    detail: paletteWords.details.command,
    run: () => create.mutate(),
  }
}

function useEntries(typed: string): Entry[] {
  const fixed = [useNewEntry(), ...useSessionEntries(), ...usePageEntries()]
  const sessions = useFoundSessions(typed.trim())
  // The server selects the sessions; until it replies, the previous selection is filtered here.
  return fittingEntries(typed.trim() === '' ? [...sessions, ...fixed] : [...fixed, ...sessions], typed)
}

function Chooser({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState('')
  const [place, setPlace] = useState(0)
  const entries = useEntries(typed)
  const active = Math.min(place, entries.length - 1)
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const move = (by: number) => setPlace((active + by + entries.length) % Math.max(1, entries.length))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(-1)
    else if (event.key === 'Enter') choose(entries[active])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-label={paletteWords.paletteField}
        placeholder={paletteWords.paletteField}
        aria-expanded={entries.length > 0}
        aria-controls={LIST_ID}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? optionId(active) : undefined}
        value={typed}
        onChange={event => {
          setTyped(event.target.value)
          setPlace(0)
        }}
        onKeyDown={onKeyDown}
        autoFocus
        data-testid="palette-input"
      />
      <div id={LIST_ID} role="listbox" aria-label={paletteWords.results} className="palette-list">
        {entries.map((entry, at) => (
          <div
            key={entry.id}
            id={optionId(at)}
            role="option"
            tabIndex={-1}
            aria-selected={at === active}
            className="palette-option"
            data-testid="palette-option"
            // Keeps the focus in the text field.
            onMouseDown={event => {
              event.preventDefault()
              choose(entry)
            }}
          >
            <span className="truncate">{entry.label}</span>
            <span className="faint">{entry.detail}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && (
        <p className="muted" role="status">
          {paletteWords.noResults}
        </p>
      )}
    </>
  )
}
