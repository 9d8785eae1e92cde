/** A message of the user; what the server says in their place is marked as such. */
import { memo, type RefObject, useEffect, useRef, useState } from 'react'
import { CopyButton } from '../ui/copy-button.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { PencilIcon } from '../ui/page-icons.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { AlongWith } from './along-with.tsx'
import type { ItemOf } from './chat-item.ts'
import { EditMessage } from './edit-message.tsx'

/** What the server says, in words for people. */
const SYNTHETIC: Readonly<Record<string, string>> = {
  governance_decision: 'The agent was told of your decision',
  action_completed: 'The agent was told that it is done',
  task_unblocked: 'The agent was told of your answer',
  task_cancelled: 'The agent was told that the task is cancelled',
  outcome_kickoff: 'The agent was given its goal',
  outcome_continuation: 'The agent goes on towards its goal',
  outcome_resumed: 'The agent takes up its goal again',
  mission_kickoff: 'The agent was given its mission',
  mission_continuation: 'The agent goes on with its mission',
  mission_resumed: 'The agent takes up its mission again',
  mission_deadline: 'The agent was told that the time of its mission is up',
  worker_goal: 'The worker was given its goal',
  worker_message: 'The worker was told more by its agent',
  loop_run: 'The schedule began this run',
}

type Props = { sessionId: string; item: ItemOf<'user'>; isForkable: boolean }

export const UserItem = memo(function UserItem({ sessionId, item, isForkable }: Props) {
  const [isEditing, setEditing] = useState(false)
  const pencil = useFocusAfter(isEditing)
  if (isEditing) return <EditMessage sessionId={sessionId} item={item} onDone={() => setEditing(false)} />
  if (item.synthetic !== null) {
    return (
      <details className="synthetic" data-testid="synthetic-message">
        <summary>{SYNTHETIC[item.synthetic] ?? item.synthetic.replaceAll('_', ' ')}</summary>
        <p dir="auto">
          <ExactText text={item.content} />
        </p>
      </details>
    )
  }
  return (
    <>
      <article className="user" data-testid="user-message" data-event={item.event_id}>
        <p dir="auto">{item.content}</p>
        <AlongWith item={item} />
      </article>
      {item.unanswered === true && (
        <p className="user-foot faint" data-testid="unanswered">
          Stopped before an answer: the agent reads it in its next turn.
        </p>
      )}
      <p className="user-foot said-at">
        <TimeOf at={item.created_at} />
        <CopyButton text={item.content} name="Copy the message" />
        {isForkable && (
          <button
            ref={pencil}
            type="button"
            className="button quiet square small"
            aria-label="Edit and send again"
            title="Edit and send again"
            onClick={() => setEditing(true)}
            data-testid="edit-message"
          >
            <PencilIcon />
          </button>
        )}
      </p>
    </>
  )
})

/** What opened something has the focus again once that is closed. */
function useFocusAfter(isOpen: boolean): RefObject<HTMLButtonElement | null> {
  const opener = useRef<HTMLButtonElement>(null)
  const wasOpen = useRef(false)
  useEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  return opener
}
