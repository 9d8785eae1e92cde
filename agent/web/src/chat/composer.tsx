/** Where a person writes. Nothing is shown before the log has it; while a turn runs, a message steers it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import { SendIcon, StopIcon } from '../ui/icons.tsx'

type Props = {
  sessionId: string
  isRunning: boolean
  /** A question of the agent waits: what is typed is its answer. */
  asks: boolean
  isArchived: boolean
  hint: string
  onSent: () => void
}
type Sent = { content: string; on_question: 'answer' | 'pass_over' | 'refuse' }

/** What was typed and not sent, by session; a change of tab must not lose it. */
const drafts = new Map<string, string>()

export function Composer({ sessionId, isRunning, asks, isArchived, hint, onSent }: Props) {
  const queries = useQueryClient()
  const [text, setText] = useState(() => drafts.get(sessionId) ?? '')
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    drafts.set(sessionId, text)
  }, [sessionId, text])
  // Repeating a send that may have arrived must not say it twice: one key for one text.
  const attempt = useRef({ text: '', key: '' })
  const send = useMutation({
    mutationFn: (body: Sent) => {
      const text = `${body.on_question} ${body.content}`
      if (attempt.current.text !== text) attempt.current = { text, key: crypto.randomUUID() }
      return client.call('sendMessage', {
        params: { id: sessionId },
        body,
        idempotencyKey: attempt.current.key,
      })
    },
    onSuccess: async () => {
      attempt.current = { text: '', key: '' }
      setText('')
      onSent()
      await refreshSession(queries, sessionId)
    },
  })
  const stop = useMutation({ mutationFn: () => client.call('stopSession', { params: { id: sessionId } }) })

  useLayoutEffect(() => {
    const box = field.current
    if (!box) return
    box.style.height = 'auto'
    if (text !== '') box.style.height = `${Math.min(box.scrollHeight, 240)}px`
  }, [text])
  useEffect(() => {
    if (window.matchMedia('(hover: hover)').matches) field.current?.focus()
  }, [])

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
  if (isArchived)
    return (
      <p className="composer-closed muted">This session is archived. Its log can be read, not continued.</p>
    )
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
        {isRunning && (
          <Button
            className="button square stop"
            aria-label="Stop the turn"
            isDisabled={stop.isPending}
            onPress={() => stop.mutate()}
            data-testid="stop"
          >
            <StopIcon />
          </Button>
        )}
        <Button
          className="button primary square"
          aria-label={asks ? 'Answer' : 'Send'}
          isDisabled={text.trim() === '' || send.isPending}
          onPress={submitAsShown}
          data-testid="send"
        >
          <SendIcon />
        </Button>
      </div>
      {asks ? (
        <p className="composer-asked faint">
          What you write answers the question above.{' '}
          <Button
            className="json-link"
            isDisabled={text.trim() === '' || send.isPending}
            onPress={() => submit('pass_over')}
            data-testid="send-instead"
          >
            Send as a new message instead
          </Button>
        </p>
      ) : (
        <p className="composer-hint faint">{hint}</p>
      )}
    </div>
  )
}
