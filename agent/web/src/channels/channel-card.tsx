/** One connection: its state and how to fix it, its actions, its senders, and its failed deliveries. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Button } from 'react-aria-components'
import { visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { ChannelForm } from './channel-form.tsx'
import { type Channel, channelQuery, channelsQuery } from './channel-queries.ts'
import { fixOf, platformName, stateKind, stateName } from './channel-words.ts'
import { Status } from '../ui/status.tsx'
import { FailedDeliveries } from './failed-deliveries.tsx'
import { Senders } from './senders.tsx'
import { TestMessage } from './test-message.tsx'
import { channelsWords } from '../words/channels.ts'
import { generalWords } from '../words/general.ts'

type Section = 'edit' | 'test' | 'dead' | 'senders'

export function ChannelCard({ channel }: { channel: Channel }) {
  const { id, name, platform, state, origin, removed, last_error, dead_letters } = channel
  const [open, setOpen] = useState<Section | null>(null)
  const act = useAct(id)
  const fix = fixOf(channel)
  const opener = (section: Section, label: string) => (
    <Button
      className="button small"
      aria-expanded={open === section}
      onPress={() => setOpen(open === section ? null : section)}
      data-testid={`channel-${section}`}
    >
      {label}
    </Button>
  )
  const action = (what: Action, label: string) => (
    <Button
      className={what === 'deleteChannel' ? 'button small danger' : 'button small'}
      isDisabled={act.isPending}
      onPress={() => act.mutate(what)}
      data-testid={what}
    >
      {label}
    </Button>
  )
  return (
    <li className="channel" data-testid="channel" data-state={state}>
      <header>
        <h3>{visibleText(name)}</h3>
        <span className="faint">{platformName(platform)}</span>
        <Status kind={stateKind(state)} word={stateName(state)} />
      </header>
      <Facts channel={channel} />
      {last_error !== null && <p className="channel-error">{visibleText(last_error)}</p>}
      {fix !== null && <p className="faint">{fix}</p>}
      {act.error && (
        <p className="inline-error" role="alert">
          {describeError(act.error)}
        </p>
      )}
      <div className="channel-actions">
        {state !== 'disabled' && platform !== 'website' && opener('test', channelsWords.testMessage)}
        {opener('senders', channelsWords.senders)}
        {opener(
          'dead',
          dead_letters === 0 ? channelsWords.failedDeliveries : channelsWords.failedCount(dead_letters),
        )}
        {origin === 'page' && opener('edit', channelsWords.settings)}
        {state === 'disabled' && !removed && action('enableChannel', channelsWords.enable)}
        {state === 'broken' && action('enableChannel', generalWords.retry)}
        {state !== 'disabled' && action('disableChannel', channelsWords.disable)}
        {(origin === 'page' || removed) &&
          state === 'disabled' &&
          action('deleteChannel', channelsWords.delete)}
      </div>
      {open === 'test' && <TestMessage channel={channel} />}
      {open === 'senders' && <Senders id={id} />}
      {open === 'dead' && <FailedDeliveries id={id} />}
      {open === 'edit' && <Edit id={id} onDone={() => setOpen(null)} />}
    </li>
  )
}

type Action = 'enableChannel' | 'disableChannel' | 'deleteChannel'

function useAct(id: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (action: Action) => {
      await client.call(action, { params: { channel_id: id } })
    },
    meta: { showsError: true },
    onSettled: () => queries.invalidateQueries({ queryKey: channelsQuery.queryKey }),
  })
}

function Facts({ channel }: { channel: Channel }) {
  const now = useNow(10_000)
  const ago = (at: string | null): string => (at === null ? generalWords.neverYet : formatAgo(at, now))
  const { state_since, last_in_at, last_out_at, waiting_since, webhook_path, origin, removed } = channel
  const facts: [string, ReactNode][] = [
    [channelsWords.since, ago(state_since)],
    [channelsWords.lastIn, ago(last_in_at)],
    [channelsWords.lastOut, ago(last_out_at)],
    ...(waiting_since === null ? [] : [[channelsWords.waitingSince, ago(waiting_since)] as [string, string]]),
    [
      channelsWords.configured,
      origin === 'page'
        ? channelsWords.onPage
        : removed
          ? channelsWords.removedFromFile
          : channelsWords.inFile,
    ],
    [channelsWords.webhookPath, <code key="path">{webhook_path}</code>],
  ]
  return (
    <dl className="channel-facts">
      {facts.map(([what, value]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Edit({ id, onDone }: { id: string; onDone: () => void }) {
  const { data: given, error } = useQuery(channelQuery(id))
  if (error)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  return given === undefined ? null : <ChannelForm given={given} onDone={onDone} />
}
