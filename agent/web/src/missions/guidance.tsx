/** A message to the coordinator, which its running or next turn reads. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { Button } from 'react-aria-components'
import { client } from '../api.ts'
import { say } from '../ui/toasts.tsx'
import { useRequestKey } from '../ui/use-request-key.ts'
import { generalWords } from '../words/general.ts'
import { missionsWords } from '../words/missions.ts'

/** The limit of the API. */
const MAX_CHARS = 20_000

export function Guidance({ sessionId }: { sessionId: string }) {
  const [text, setText] = useState('')
  const { keyOf, done } = useRequestKey()
  const send = useMutation({
    mutationFn: (content: string) =>
      client.call('sendMessage', {
        params: { id: sessionId },
        body: { content },
        idempotencyKey: keyOf(content),
      }),
    onSuccess: () => {
      done()
      setText('')
      say(missionsWords.guidanceSent)
    },
  })
  const id = useId()
  return (
    <form
      className="mission-guidance"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        send.mutate(text.trim())
      }}
    >
      <h2>
        <label htmlFor={id}>{missionsWords.guidance}</label>
      </h2>
      <textarea
        id={id}
        className="input"
        rows={3}
        maxLength={MAX_CHARS}
        placeholder={missionsWords.guidanceHint}
        value={text}
        onChange={event => setText(event.target.value)}
        data-testid="mission-guidance"
      />
      <div className="actions">
        <Button
          className="button"
          type="submit"
          isDisabled={send.isPending || text.trim() === ''}
          data-testid="send-guidance"
        >
          {generalWords.send}
        </Button>
      </div>
    </form>
  )
}
