/** Edits a sent message: starts a fork with the conversation before it, and sends the edited text there. */
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { Button } from 'react-aria-components'
import { AlongWith } from './along-with.tsx'
import type { ItemOf } from './chat-item.ts'
import { useFork } from './use-fork.ts'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type Props = { sessionId: string; item: ItemOf<'user'>; onDone: () => void }

export function EditMessage({ sessionId, item, onDone }: Props) {
  const fork = useFork(sessionId)
  const [text, setText] = useState(item.content)
  const field = useRef<HTMLTextAreaElement>(null)
  const content = text.trim()
  const mayNotSend = content === '' || fork.isPending
  useEffect(() => {
    field.current?.focus()
    field.current?.setSelectionRange(item.content.length, item.content.length)
  }, [item])
  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (mayNotSend) return
    const { attachments, images } = item
    fork.mutate({
      event_id: item.event_id - 1,
      first: {
        content,
        ...(attachments.length > 0 && { attachments: [...attachments] }),
        ...(images.length > 0 && { images: [...images] }),
      },
    })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    if (event.key === 'Escape') onDone()
    else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      submit()
    }
  }
  return (
    <form className="edit-message" onSubmit={submit}>
      <textarea
        ref={field}
        className="input"
        rows={3}
        dir="auto"
        value={text}
        onChange={event => setText(event.target.value)}
        onKeyDown={onKeyDown}
        aria-label={chatWords.editedMessage}
        data-testid="edit-text"
      />
      <AlongWith item={item} />
      <p className="faint">{chatWords.editHint}</p>
      <div className="actions">
        <Button className="button" onPress={onDone}>
          {generalWords.cancel}
        </Button>
        <Button className="button primary" type="submit" isDisabled={mayNotSend} data-testid="edit-send">
          {chatWords.resend}
        </Button>
      </div>
    </form>
  )
}
