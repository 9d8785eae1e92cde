/** The answer to a blocked task, with which its worker resumes; or the cancellation of the task. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type KeyboardEvent, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { refreshSession } from '../queries.ts'
import './answer-task.css'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type Props = {
  /** The session that created the task. */
  sessionId: string
  taskId: string
  /** The inbox item to answer; null: answers the task itself, which also closes its item. */
  itemId: string | null
  /** Called after the answer or the cancellation was accepted. */
  onAnswered?: () => void
}

/** The limit of the API. */
const MAX_CHARS = 20_000

export function AnswerTask({ sessionId, taskId, itemId, onAnswered }: Props) {
  const [text, setText] = useState('')
  const queries = useQueryClient()
  const accepted = onAnswered !== undefined && { onSuccess: onAnswered }
  const settle = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['tasks', sessionId] }),
      queries.invalidateQueries({ queryKey: ['inbox'] }),
      refreshSession(queries, sessionId),
    ])
  const answer = useMutation({
    mutationFn: (answer: string): Promise<unknown> =>
      itemId === null
        ? client.call('unblockTask', { params: { task_id: taskId }, body: { answer } })
        : client.call('respondInbox', {
            params: { item_id: itemId },
            body: { completed: true, note: answer },
          }),
    ...accepted,
    onSettled: settle,
  })
  const cancel = useMutation({
    mutationFn: () => client.call('cancelTask', { params: { task_id: taskId }, body: {} }),
    ...accepted,
    onSettled: settle,
  })
  const isBusy = answer.isPending || cancel.isPending
  const submit = () => {
    const said = text.trim()
    if (said !== '' && !isBusy) answer.mutate(said)
  }
  const keyDown = (event: KeyboardEvent) => {
    // The same keys as in the composer. An input method uses Enter to choose a word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    submit()
  }
  const label = useId()
  return (
    <form
      className="answer-task"
      data-testid="answer-task"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        submit()
      }}
    >
      <label htmlFor={label}>{chatWords.yourAnswer}</label>
      <textarea
        id={label}
        className="input"
        rows={2}
        maxLength={MAX_CHARS}
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={keyDown}
        data-testid="task-note"
      />
      <div className="answer-task-buttons">
        <Button
          className="button danger"
          isDisabled={isBusy}
          onPress={() => cancel.mutate()}
          data-testid="cancel-task"
        >
          {chatWords.cancelTask}
        </Button>
        <Button
          className="button primary"
          type="submit"
          isDisabled={text.trim() === '' || isBusy}
          data-testid="unblock-task"
        >
          {generalWords.answer}
        </Button>
      </div>
    </form>
  )
}
