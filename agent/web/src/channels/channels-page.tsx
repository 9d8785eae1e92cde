/** Connections to messaging platforms with their states, and a form for a new one. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { describeError } from '../api.ts'
import { PlusIcon } from '../ui/icons.tsx'
import { ChannelCard } from './channel-card.tsx'
import { ChannelForm } from './channel-form.tsx'
import { channelsQuery } from './channel-queries.ts'
import './channels.css'
import { channelsWords } from '../words/channels.ts'

export function ChannelsPage() {
  const { data: channels = [], error, isSuccess } = useQuery(channelsQuery)
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="admin-section">
      <header>
        <h2>{channelsWords.channels}</h2>
        <Button
          className="button"
          aria-expanded={isOpen}
          onPress={() => setOpen(!isOpen)}
          data-testid="new-channel"
        >
          <PlusIcon />
          {channelsWords.newChannel}
        </Button>
      </header>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {isOpen && <ChannelForm onDone={() => setOpen(false)} />}
      <ul className="channels-list" data-testid="channels">
        {channels.map(channel => (
          <ChannelCard key={channel.id} channel={channel} />
        ))}
      </ul>
      {isSuccess && channels.length === 0 && !isOpen && <p className="faint">{channelsWords.noneText}</p>}
    </div>
  )
}
