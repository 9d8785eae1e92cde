/** Failed deliveries of a connection, to retry or discard. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Button } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { failedDeliveriesQuery, type Delivery } from './channel-queries.ts'
import { channelsWords } from '../words/channels.ts'
import { generalWords } from '../words/general.ts'

export function FailedDeliveries({ id }: { id: string }) {
  const { data: letters, error } = useQuery(failedDeliveriesQuery(id))
  const queries = useQueryClient()
  const act = useMutation({
    mutationFn: async ({ what, key }: { what: 'retryDelivery' | 'dropDelivery'; key: string }) => {
      await client.call(what, { params: { channel_id: id, delivery_id: key } })
    },
    meta: { showsError: true },
    onSettled: () => queries.invalidateQueries({ queryKey: ['admin', 'channels'] }),
  })
  const failure = error ?? act.error
  return (
    <div className="channel-part">
      {failure && (
        <p className="inline-error" role="alert">
          {describeError(failure)}
        </p>
      )}
      {letters?.length === 0 && <p className="faint">{channelsWords.noFailed}</p>}
      <ul className="channel-rows" data-testid="dead-letters">
        {letters?.map(letter => (
          <Letter
            key={letter.id}
            letter={letter}
            isBusy={act.isPending}
            onAct={what => act.mutate({ what, key: letter.id })}
          />
        ))}
      </ul>
    </div>
  )
}

type LetterProps = {
  letter: Delivery
  isBusy: boolean
  onAct: (what: 'retryDelivery' | 'dropDelivery') => void
}

function Letter({ letter, isBusy, onAct }: LetterProps) {
  const { session_id, event_id, error, updated_at } = letter
  const now = useNow(10_000)
  return (
    <li data-testid="dead-letter">
      <div>
        {session_id === null ? (
          channelsWords.channelNotice
        ) : (
          <Link
            to="/sessions/$sessionId/events"
            params={{ sessionId: session_id }}
            search={{ id: event_id }}
            className="json-link"
          >
            {channelsWords.eventOf(event_id)}
          </Link>
        )}
        <span className="faint"> · {formatAgo(updated_at, now)}</span>
        {error !== null && <p className="channel-error">{visibleText(error)}</p>}
      </div>
      <span className="row-buttons">
        <Button
          className="button small"
          isDisabled={isBusy}
          onPress={() => onAct('retryDelivery')}
          data-testid="retry-letter"
        >
          {generalWords.sendAgain}
        </Button>
        <Button className="button small quiet" isDisabled={isBusy} onPress={() => onAct('dropDelivery')}>
          {channelsWords.discard}
        </Button>
      </span>
    </li>
  )
}
