/** Where a person writes; while a turn runs, a message steers it. */
import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { SendIcon, StopIcon } from '../ui/icons.tsx'
import { type Sent, useSendMessage } from './use-send-message.ts'

type Props = {
  sessionId: string
  isRunning: boolean
  /** A question of the agent waits: what is typed is its answer. */
  asks: boolean
  isArchived: boolean
  hint: string
  onSent: () => void
}

/** What was typed and not sent, by session; a change of tab must not lose it. */
const drafts = new Map<string, string>()
const MAX_HEIGHT = 240

export function Composer(props: Props) {
  return props.isArchived ? (
    <p className="composer-closed muted">This session is archived. Its log can be read, not continued.</p>
  ) : (
    <OpenComposer {...props} />
  )
}

function OpenComposer({ sessionId, isRunning, asks, hint, onSent }: Props) {
  const [text, setText] = useState(() => drafts.get(sessionId) ?? '')
  const field = useField(text)
  useEffect(() => {
    drafts.set(sessionId, text)
  }, [sessionId, text])
  const send = useSendMessage(sessionId, () => {
    setText('')
    onSent()
  })
  const submit = (on_question: Sent['on_question']) => {
    const content = text.trim()
    if (content !== '' && !send.isPending) send.mutate({ content, on_question })
  }
  // Text that was written before a question was seen must not become its answer.
  const submitAsShown = () => submit(asks ? 'answer' : 'refuse')
  const keyDown = (event: KeyboardEvent) => {
    // An input method uses Enter to choose a word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submitAsShown()
  }
  const isEmpty = text.trim() === '' || send.isPending
  return (
    <div className="composer">
      <div className="composer-box">
        <textarea
          ref={field}
          rows={1}
          value={text}
          onChange={event => setText(event.target.value)}
          onKeyDown={keyDown}
          placeholder={asks ? 'Your answer …' : isRunning ? 'Steer the running turn …' : 'Write a message'}
          aria-label={asks ? 'Your answer' : 'Message'}
          data-mode={asks ? 'answer' : 'message'}
          data-testid="composer"
        />
        {isRunning && <StopButton sessionId={sessionId} />}
        <Button
          className="button primary square"
          aria-label={asks ? 'Answer' : 'Send'}
          isDisabled={isEmpty}
          onPress={submitAsShown}
          data-testid="send"
        >
          <SendIcon />
        </Button>
      </div>
      {asks ? (
        <AskedHint isDisabled={isEmpty} onSendInstead={() => submit('pass_over')} />
      ) : (
        <p className="composer-hint faint">{hint}</p>
      )}
    </div>
  )
}

/** A field that grows with its text, and has the focus where there is a keyboard. */
function useField(text: string): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    const box = field.current
    if (!box) return
    box.style.height = 'auto'
    if (text !== '') box.style.height = `${Math.min(box.scrollHeight, MAX_HEIGHT)}px`
  }, [text])
  useEffect(() => {
    if (window.matchMedia('(hover: hover)').matches) field.current?.focus()
  }, [])
  return field
}

function StopButton({ sessionId }: { sessionId: string }) {
  const stop = useMutation({ mutationFn: () => client.call('stopSession', { params: { id: sessionId } }) })
  return (
    <Button
      className="button square stop"
      aria-label="Stop the turn"
      isDisabled={stop.isPending}
      onPress={() => stop.mutate()}
      data-testid="stop"
    >
      <StopIcon />
    </Button>
  )
}

const AskedHint = ({ isDisabled, onSendInstead }: { isDisabled: boolean; onSendInstead: () => void }) => (
  <p className="composer-asked faint">
    What you write answers the question above.{' '}
    <Button className="json-link" isDisabled={isDisabled} onPress={onSendInstead} data-testid="send-instead">
      Send as a new message instead
    </Button>
  </p>
)
