/** Thumbs up and down for an answer. A second click removes the rating; a thumb down may include a reason. */
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { BodyOf } from '@cairn/protocol'
import { client } from '../api.ts'
import { DownIcon, UpIcon } from '../ui/page-icons.tsx'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

type Thumb = 'up' | 'down'
type Props = { sessionId: string; eventId: number; rating: Thumb | null }

export function Rating({ sessionId, eventId, rating }: Props) {
  const [isAsking, setAsking] = useState(false)
  const rate = useMutation({
    mutationFn: (body: BodyOf<'giveFeedback'>) =>
      client.call('giveFeedback', { params: { id: sessionId, event_id: eventId }, body }),
  })
  const press = (thumb: Thumb) => {
    const isTakenBack = rating === thumb
    setAsking(thumb === 'down' && !isTakenBack)
    rate.mutate(isTakenBack ? { rating: thumb, withdrawn: true } : { rating: thumb })
  }
  const thumb = (of: Thumb, name: string, Icon: typeof UpIcon) => (
    <button
      type="button"
      className="button quiet square small"
      aria-label={name}
      title={rating === of ? chatWords.removeRating : name}
      aria-pressed={rating === of}
      disabled={rate.isPending}
      data-testid={`feedback-${of}`}
      onClick={() => press(of)}
    >
      <Icon />
    </button>
  )
  return (
    <>
      {thumb('up', chatWords.goodAnswer, UpIcon)}
      {thumb('down', chatWords.badAnswer, DownIcon)}
      {isAsking && rating === 'down' && (
        <WhyForm
          onSkip={() => setAsking(false)}
          onSay={reason => {
            setAsking(false)
            rate.mutate({ rating: 'down', reason })
          }}
        />
      )}
    </>
  )
}

function WhyForm({ onSay, onSkip }: { onSay: (reason: string) => void; onSkip: () => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const reason = String(new FormData(event.currentTarget).get('reason')).trim()
    if (reason === '') onSkip()
    else onSay(reason)
  }
  return (
    <form className="bad-reason" onSubmit={submit}>
      <input
        className="input"
        name="reason"
        maxLength={500}
        aria-label={chatWords.whatWasWrong}
        placeholder={chatWords.whatWasWrongOptional}
        data-testid="feedback-reason"
      />
      <button type="submit" className="button small" data-testid="feedback-send">
        {generalWords.send}
      </button>
      <button type="button" className="button quiet small" onClick={onSkip}>
        {chatWords.skip}
      </button>
    </form>
  )
}
