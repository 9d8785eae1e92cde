/** Sends a test message and shows its delivery state. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import { Button, Input, Label, TextField } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { type Channel, type Delivery, deliveryQuery } from './channel-queries.ts'
import { channelsWords } from '../words/channels.ts'
import { generalWords } from '../words/general.ts'

const WHERE: Partial<Record<string, string>> = channelsWords.where

export function TestMessage({ channel: { id, platform } }: { channel: Channel }) {
  const send = useMutation({
    mutationFn: (to: string) => client.call('testChannel', { params: { channel_id: id }, body: { to } }),
    meta: { showsError: true },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    send.mutate(String(new FormData(event.currentTarget).get('to')).trim())
  }
  return (
    <form className="channel-part" onSubmit={submit}>
      <div className="channel-line">
        <TextField className="field" name="to" isRequired maxLength={200}>
          <Label>{channelsWords.to(WHERE[platform] ?? channelsWords.conversationId)}</Label>
          <Input className="input" data-testid="test-to" />
        </TextField>
        <Button className="button" type="submit" isDisabled={send.isPending} data-testid="send-test">
          {generalWords.send}
        </Button>
      </div>
      {send.isError && (
        <p className="inline-error" role="alert">
          {describeError(send.error)}
        </p>
      )}
      {send.data && <Outcome id={id} deliveryId={send.data.delivery_id} />}
    </form>
  )
}

function Outcome({ id, deliveryId }: { id: string; deliveryId: string }) {
  const { data, error } = useQuery(deliveryQuery(id, deliveryId))
  return (
    <p role="status" data-testid="test-outcome" data-state={data?.state}>
      {error ? describeError(error) : data === undefined ? '' : outcomeOf(data)}
    </p>
  )
}

function outcomeOf({ state, error }: Delivery): string {
  const why = error === null ? '' : `: ${visibleText(error)}`
  if (state === 'sent') return channelsWords.sent
  if (state === 'dead') return channelsWords.refused(why)
  if (state === 'held') return channelsWords.held(why)
  return error === null ? channelsWords.sending : channelsWords.retrying(why)
}
