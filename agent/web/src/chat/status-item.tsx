/** An event of the session itself: a crash, a recovery, a stop. */
import { memo } from 'react'
import { ExactText } from '../ui/exact-text.tsx'
import { AlertIcon } from '../ui/icons.tsx'
import type { ItemOf } from './chat-item.ts'
import { generalWords } from '../words/general.ts'

export const StatusItem = memo(function StatusItem({
  item,
  onEvent,
}: {
  item: ItemOf<'notice'>
  onEvent: (id: number) => void
}) {
  return (
    <p
      className="notice"
      data-level={item.level}
      data-type={item.type}
      data-testid="notice"
      role={item.level === 'error' ? 'alert' : undefined}
    >
      {item.level !== 'info' && <AlertIcon />}
      <span>
        <ExactText text={item.text} />
      </span>
      <button type="button" className="json-link" onClick={() => onEvent(item.event_id)}>
        {generalWords.event(item.event_id)}
      </button>
    </p>
  )
})
