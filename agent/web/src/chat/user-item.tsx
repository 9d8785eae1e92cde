/** A message of the user; what the server says in their place is marked as such. */
import { memo } from 'react'
import { FileIcon } from '../ui/icons.tsx'
import type { ItemOf } from './chat-item.ts'

export const UserItem = memo(function UserItem({ item }: { item: ItemOf<'user'> }) {
  if (item.synthetic !== null) {
    return (
      <details className="synthetic" data-testid="synthetic-message">
        <summary>{item.synthetic.replaceAll('_', ' ')}</summary>
        <p>{item.content}</p>
      </details>
    )
  }
  return (
    <article className="user" data-testid="user-message" data-event={item.event_id}>
      <p>{item.content}</p>
      {item.attachments.length > 0 && (
        <ul className="files">
          {item.attachments.map(file => (
            <li key={file.path}>
              <FileIcon />
              {file.filename}
            </li>
          ))}
        </ul>
      )}
      {item.images.map(image => (
        <img
          key={image.data.slice(0, 64)}
          src={`data:${image.mime_type};base64,${image.data}`}
          alt="From the user"
        />
      ))}
    </article>
  )
})
