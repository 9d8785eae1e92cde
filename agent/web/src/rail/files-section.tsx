/** The files of the workspace as a tree, and the selected file. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { describeError } from '../api.ts'
import { CodeBlock } from '../code/code-block.tsx'
import { languageOfFile } from '../code/language.ts'
import { formatSize } from '../format.ts'
import { fileQuery, sessionQuery, treeQuery } from '../queries.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { BackIcon } from '../ui/icons.tsx'
import { ChevronIcon, FileIcon, TailIcon } from '../ui/page-icons.tsx'
import { type Folder, folderOf } from './file-tree.ts'
import { saveFile } from '../ui/save-file.ts'
import { railWords } from '../words/rail.ts'
import { generalWords } from '../words/general.ts'

type Props = { sessionId: string; revision: number }

export function FilesSection({ sessionId, revision }: Props) {
  const [open, setOpen] = useState<string | null>(null)
  if (open !== null)
    return <FileView key={open} sessionId={sessionId} path={open} onBack={() => setOpen(null)} />
  return <Tree sessionId={sessionId} revision={revision} onOpen={setOpen} />
}

/** `revision` changes when a tool has run; the tree is then read again. */
function Tree({ sessionId, revision, onOpen }: Props & { onOpen: (path: string) => void }) {
  const { data: session } = useQuery(sessionQuery(sessionId))
  const { data, error } = useQuery(treeQuery(sessionId, revision))
  if (session?.status === 'archived') return <p className="rail-empty muted">{railWords.filesDeleted}</p>
  if (error) return <p className="inline-error">{describeError(error)}</p>
  if (data === undefined) return <p className="faint">{generalWords.loading}</p>
  if (data.entries.length === 0) return <p className="rail-empty muted">{railWords.empty}</p>
  return (
    <>
      <FolderList folder={folderOf(data.entries)} onOpen={onOpen} />
      {data.truncated && <p className="faint rail-note">{railWords.moreFiles}</p>}
    </>
  )
}

const FolderList = ({ folder, onOpen }: { folder: Folder; onOpen: (path: string) => void }) => (
  <ul className="file-tree">
    {folder.folders.map(inner => (
      <li key={inner.path}>
        <details open={inner.path.split('/').length < 3}>
          <summary>
            <ChevronIcon />
            <ExactText text={inner.name} />
          </summary>
          <FolderList folder={inner} onOpen={onOpen} />
        </details>
      </li>
    ))}
    {folder.files.map(({ path, name, size }) => (
      <li key={path}>
        <button type="button" className="file-entry" onClick={() => onOpen(path)} data-testid="file-entry">
          <FileIcon />
          <span className="truncate">
            <ExactText text={name} />
          </span>
          {size !== undefined && <span className="faint numeric">{formatSize(size)}</span>}
        </button>
      </li>
    ))}
  </ul>
)

type FileProps = { sessionId: string; path: string; onBack: () => void }

function FileView({ sessionId, path, onBack }: FileProps) {
  const { data, error } = useQuery({ ...fileQuery(sessionId, path), staleTime: 0 })
  return (
    <div className="file-view" data-testid="file-view">
      <header>
        <button
          type="button"
          className="button quiet square"
          aria-label={railWords.backToFiles}
          onClick={onBack}
        >
          <BackIcon />
        </button>
        <code className="truncate">
          <ExactText text={path} />
        </code>
        {data !== undefined && (
          <button
            type="button"
            className="button small"
            onClick={() => saveFile(data)}
            disabled={data.truncated}
            title={data.truncated ? railWords.tooLongToDownload : undefined}
            data-testid="download"
          >
            <TailIcon />
            {railWords.download}
          </button>
        )}
      </header>
      {error && <p className="inline-error">{describeError(error)}</p>}
      {data === undefined ? (
        !error && <p className="faint">{generalWords.loading}</p>
      ) : data.encoding === 'utf-8' ? (
        <CodeBlock code={data.content} language={languageOfFile(path)} label={formatSize(data.size)} />
      ) : (
        <Bytes path={path} content={data.content} size={data.size} />
      )}
      {data?.truncated && <p className="faint rail-note">{railWords.firstPart(formatSize(data.size))}</p>}
    </div>
  )
}

const PICTURES: Readonly<Record<string, string>> = {
  gif: 'image/gif',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
}

function Bytes({ path, content, size }: { path: string; content: string; size: number }) {
  const type = PICTURES[path.slice(path.lastIndexOf('.') + 1).toLowerCase()]
  return type === undefined ? (
    <p className="muted">{railWords.binary(formatSize(size))}</p>
  ) : (
    <img className="artifact-picture" src={`data:${type};base64,${content}`} alt={path} />
  )
}
