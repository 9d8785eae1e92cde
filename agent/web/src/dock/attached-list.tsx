/** The attachments of the message as removable chips. */
import { CloseIcon } from '../ui/icons.tsx'
import { FileIcon } from '../ui/page-icons.tsx'
import type { Attached } from './use-attachments.ts'
import { composerWords } from '../words/composer.ts'

type Props = { attached: readonly Attached[]; onRemove: (id: number) => void }

export function AttachedList({ attached, onRemove }: Props) {
  if (attached.length === 0) return null
  return (
    <ul className="attached" aria-label={composerWords.attached}>
      {attached.map(one => (
        <li key={one.id} data-testid="attached" data-state={one.state} data-kind={one.kind}>
          {one.kind === 'picture' && one.value !== null ? (
            <img src={`data:${one.value.mime_type};base64,${one.value.data}`} alt="" />
          ) : (
            <FileIcon />
          )}
          <span className="truncate">{one.name}</span>
          {one.state === 'reading' && <span className="faint">…</span>}
          <button
            type="button"
            className="button quiet square small"
            aria-label={composerWords.remove(one.name)}
            onClick={() => onRemove(one.id)}
          >
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  )
}
