/**
 * The field where a person writes. Depending on the session's state, the text becomes a message, an
 * instruction to the running turn, or the answer to the open question.
 */
import { type ChangeEvent, type ClipboardEvent, type DragEvent, useRef } from 'react'
import { AttachIcon, SendIcon, StopIcon } from '../ui/page-icons.tsx'
import { ArchivedNote } from './archived-note.tsx'
import { AskedHint, Choices } from './asked.tsx'
import { AttachedList } from './attached-list.tsx'
import { CompletionList, LIST_ID, optionId } from './completion-list.tsx'
import { type ComposerProps, useComposer } from './use-composer.ts'
import './dock.css'
import { composerWords } from '../words/composer.ts'
import { generalWords } from '../words/general.ts'

type Composing = ReturnType<typeof useComposer>

export function Composer(props: ComposerProps) {
  return props.isArchived ? <ArchivedNote sessionId={props.sessionId} /> : <OpenComposer {...props} />
}

function OpenComposer(props: ComposerProps) {
  const { isRunning, asked, hint, isConnected } = props
  const composing = useComposer(props)
  const { draft, files, completion, choice, isEmpty, submit, submitAsShown, stop } = composing
  const drop = (event: DragEvent) => {
    event.preventDefault()
    files.add([...event.dataTransfer.files])
  }
  return (
    <div className="composer" onDrop={drop} onDragOver={event => event.preventDefault()}>
      {asked && <Choices questions={asked.questions} chosen={choice} onChoose={draft.choose} />}
      <CompletionList {...completion} />
      <AttachedList attached={files.attached} onRemove={files.remove} />
      <div className="composer-box">
        {asked === null && <AttachButton onPick={files.add} />}
        <Field composing={composing} asks={asked !== null} isRunning={isRunning} />
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
      {asked ? (
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

type FieldProps = { composing: Composing; asks: boolean; isRunning: boolean }

function Field({ composing, asks, isRunning }: FieldProps) {
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
      placeholder={
        asks ? composerWords.yourAnswer : isRunning ? composerWords.steer : composerWords.placeholder
      }
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
