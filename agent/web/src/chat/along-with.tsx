/** The files and pictures of a message. */
import { FileIcon } from '../ui/page-icons.tsx'
import type { ItemOf } from './chat-item.ts'
import { chatWords } from '../words/chat.ts'

export const AlongWith = ({ item: { attachments, images } }: { item: ItemOf<'user'> }) => (
  <>
    {attachments.length > 0 && (
      <ul className="files">
        {attachments.map(file => (
          <li key={file.path}>
            <FileIcon />
            {file.filename}
          </li>
        ))}
      </ul>
    )}
    {images.map(image => (
      <img
        key={image.data.slice(0, 64)}
        src={`data:${image.mime_type};base64,${image.data}`}
        alt={chatWords.userPicture}
      />
    ))}
  </>
)
