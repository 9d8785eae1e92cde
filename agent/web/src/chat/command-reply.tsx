/** The server's reply to a slash command. The agent did not write it, so it cannot be rated. */
import { memo } from 'react'
import type { ItemOf } from './chat-item.ts'
import './command-reply.css'

export const CommandReply = memo(function CommandReply({ item }: { item: ItemOf<'answer'> }) {
  return (
    <p className="command-reply" data-testid="command-reply" data-event={item.event_id} role="status">
      {item.content}
    </p>
  )
})
