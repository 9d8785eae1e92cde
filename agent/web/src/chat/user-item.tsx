/** A message of the user. Messages that the server wrote in the user's role are marked. */
import { memo, type RefObject, useEffect, useRef, useState } from 'react'
import { CopyButton } from '../ui/copy-button.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { PencilIcon } from '../ui/page-icons.tsx'
import { TimeOf } from '../ui/time-of.tsx'
import { AlongWith } from './along-with.tsx'
import type { ItemOf } from './chat-item.ts'
import { EditMessage } from './edit-message.tsx'
import { chatWords } from '../words/chat.ts'

/** Labels of the messages that the server writes. */
const SYNTHETIC: Readonly<Record<string, string>> = chatWords.synthetic

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
          {chatWords.stopped}
        </p>
      )}
      <p className="user-foot said-at">
        <TimeOf at={item.created_at} />
        <CopyButton text={item.content} name={chatWords.copyMessage} />
        {isForkable && (
          <button
            ref={pencil}
            type="button"
            className="button quiet square small"
            aria-label={chatWords.editAndResend}
            title={chatWords.editAndResend}
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

/** Returns the focus to the button when what it opened is closed. */
function useFocusAfter(isOpen: boolean): RefObject<HTMLButtonElement | null> {
  const opener = useRef<HTMLButtonElement>(null)
  const wasOpen = useRef(false)
  useEffect(() => {
    if (wasOpen.current && !isOpen) opener.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  return opener
}
