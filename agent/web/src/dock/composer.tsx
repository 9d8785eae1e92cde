/**
 * The field where a person writes. Depending on the session's state, the text becomes a message, an
 * instruction to the running turn, or the answer to the open question.
 */
import { type ChangeEvent, type ClipboardEvent, type DragEvent, useRef } from 'react'
import { StopIcon, FileIcon } from '../ui/page-icons.tsx'
import { AskedHint } from './asked.tsx'
import UnknownCommandNote from './unknown-command-note.tsx'
import { type Asked, type ComposerProps, useComposer } from './use-composer.ts'
import './dock.css'
import { composerWords } from '../words/composer.ts'
import { generalWords } from '../words/general.ts'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { AttachIcon, CloseIcon, SendIcon } from '../ui/icons.tsx'
import type { Attached } from './use-attachments.ts'
import type { Completion } from './use-completion.ts'

type Composing = ReturnType<typeof useComposer>

export function Composer(props: ComposerProps) {
  return props.isArchived ? <ArchivedNote sessionId={props.sessionId} /> : <OpenComposer {...props} />
}

function OpenComposer(props: ComposerProps) {
  const { isRunning, asked, hint, isConnected } = props
  const composing = useComposer(props)
  const { draft, files, completion, choice, isEmpty, held, submit, submitAsShown, stop } = composing
  const drop = (event: DragEvent) => {
    event.preventDefault()
    files.add([...event.dataTransfer.files])
  }
  return (
    <div className="composer" onDrop={drop} onDragOver={event => event.preventDefault()}>
      <CompletionList {...completion} />
      <AttachedList attached={files.attached} onRemove={files.remove} />
      <div className="composer-box">
        {asked === null && <AttachButton onPick={files.add} />}
        <Field composing={composing} asked={asked} isRunning={isRunning} />
        {isRunning && (
          <button
            type="button"
            className="button square stop"
            aria-label={composerWords.stop}
            title={composerWords.stopKey}
            disabled={stop.isPending || !isConnected}
            onClick={() => stop.mutate()}
            data-testid="stop"
          >
            <StopIcon />
          </button>
        )}
        <button
          type="button"
          className="button primary square"
          aria-label={asked ? generalWords.answer : generalWords.send}
          disabled={isEmpty}
          onClick={submitAsShown}
          data-testid="send"
        >
          <SendIcon />
        </button>
      </div>
      {held !== null ? (
        <UnknownCommandNote
          unknown={held}
          text={draft.text}
          onReplace={draft.replace}
          onSend={() => submit(held.on_question, true)}
        />
      ) : asked ? (
        <AskedHint choice={choice} isDisabled={isEmpty} onSendInstead={() => submit('pass_over')} />
      ) : (
        <p className="composer-hint faint">{hint}</p>
      )}
    </div>
  )
}

function AttachButton({ onPick }: { onPick: (files: File[]) => void }) {
  const picker = useRef<HTMLInputElement>(null)
  const picked = (event: ChangeEvent<HTMLInputElement>) => {
    onPick([...(event.target.files ?? [])])
    event.target.value = ''
  }
  return (
    <>
      <button
        type="button"
        className="button quiet square"
        aria-label={composerWords.attach}
        title={composerWords.attachHint}
        onClick={() => picker.current?.click()}
        data-testid="attach"
      >
        <AttachIcon />
      </button>
      <input ref={picker} type="file" multiple hidden onChange={picked} data-testid="attach-input" />
    </>
  )
}

type FieldProps = { composing: Composing; asked: Asked | null; isRunning: boolean }

function Field({ composing, asked, isRunning }: FieldProps) {
  const asks = asked !== null
  const { draft, field, files, completion, onKeyDown, write } = composing
  const { candidates, active } = completion
  const isOpen = candidates.length > 0
  const paste = (event: ClipboardEvent) => {
    const pasted = [...event.clipboardData.files]
    if (pasted.length === 0) return
    event.preventDefault()
    files.add(pasted)
  }
  return (
    <textarea
      ref={field}
      rows={1}
      dir="auto"
      value={draft.text}
      onChange={event => write(event.target.value, event.target.selectionStart)}
      onSelect={event => draft.moveCaret(event.currentTarget.selectionStart)}
      onKeyDown={onKeyDown}
      onPaste={paste}
      placeholder={asks ? answerWords(asked) : isRunning ? composerWords.steer : composerWords.placeholder}
      aria-label={asks ? composerWords.yourAnswer : composerWords.message}
      aria-autocomplete="list"
      aria-haspopup="listbox"
      aria-controls={isOpen ? LIST_ID : undefined}
      aria-activedescendant={isOpen ? optionId(active) : undefined}
      data-mode={asks ? 'answer' : 'message'}
      data-testid="composer"
    />
  )
}

/** The choices are in the card of the question. */
const answerWords = ({ questions }: Asked): string =>
  questions.some(({ choices = [] }) => choices.length > 0)
    ? composerWords.ownAnswer
    : composerWords.yourAnswer

/** Shown in place of the composer in an archived session, with a button that restores it. */
function ArchivedNote({ sessionId }: { sessionId: string }) {
  const queries = useQueryClient()
  const restore = useMutation({
    mutationFn: () => client.call('restoreSession', { params: { id: sessionId } }),
    onSuccess: () => refreshSession(queries, sessionId),
  })
  return (
    <p className="composer-closed muted">
      {composerWords.archived}{' '}
      <Button
        className="button small"
        isDisabled={restore.isPending}
        onPress={() => restore.mutate()}
        data-testid="restore"
      >
        {composerWords.restore}
      </Button>
    </p>
  )
}

type Props = { attached: readonly Attached[]; onRemove: (id: number) => void }

/** The attachments of the message as removable chips. */
function AttachedList({ attached, onRemove }: Props) {
  if (attached.length === 0) return null
  return (
    <ul className="attached" aria-label={composerWords.attached}>
      {attached.map(one => (
        <li key={one.id} data-testid="attached" data-state={one.state} data-kind={one.kind}>
          {one.kind === 'picture' && one.value !== null ? (
            <img src={`data:${one.value.mime_type};base64,${one.value.data}`} alt="" />
          ) : (
            <FileIcon />
          )}
          <span className="truncate">{one.name}</span>
          {one.state === 'reading' && <span className="faint">…</span>}
          <button
            type="button"
            className="button quiet square small"
            aria-label={composerWords.remove(one.name)}
            onClick={() => onRemove(one.id)}
          >
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  )
}

/** The completions of the word at the caret, above the composer, each with a line of help. */
const LIST_ID = 'composer-completions'
const optionId = (at: number) => `${LIST_ID}-${at}`

function CompletionList({ candidates, active, choose }: Completion) {
  if (candidates.length === 0) return null
  return (
    <>
      <p className="visually-hidden" role="status">
        {composerWords.completionHint(candidates.length)}
      </p>
      <div
        className="completions"
        id={LIST_ID}
        role="listbox"
        aria-label={composerWords.completions}
        data-testid="completions"
      >
        {candidates.map((candidate, at) => (
          <div
            key={candidate.label}
            id={optionId(at)}
            role="option"
            tabIndex={-1}
            aria-selected={at === active}
            className="completion"
            data-testid="completion"
            // Keeps the focus in the text field.
            onMouseDown={event => {
              event.preventDefault()
              choose(candidate)
            }}
          >
            <span className="completion-name">{candidate.label}</span>
            <span className="completion-help faint">{candidate.help}</span>
          </div>
        ))}
      </div>
    </>
  )
}
