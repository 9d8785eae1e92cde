/** What a folder holds, and what a search found. */
import { ExactText } from '../ui/exact-text.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'

const FIRST = 200

export function FileList({ entries }: { entries: readonly unknown[] }) {
  return <Lines lines={entries.map(String)} name="Entries" />
}

/** "path:line: text", with the place apart from the text. */
export function FoundLines({ matches }: { matches: readonly unknown[] }) {
  return <Lines lines={matches.map(String)} name="Matches" />
}

function Lines({ lines, name }: { lines: readonly string[]; name: string }) {
  if (lines.length === 0) return <p className="faint">None.</p>
  return (
    <div className="tool-lines" dir="ltr" {...scrollRegion(name)}>
      <ul>
        {lines.slice(0, FIRST).map((line, at) => (
          <li key={at}>
            <Line text={line} />
          </li>
        ))}
        {lines.length > FIRST && <li className="faint">and {lines.length - FIRST} more, as recorded</li>}
      </ul>
    </div>
  )
}

function Line({ text }: { text: string }) {
  const place = /^([^:\s][^:]*:\d+:)([\s\S]*)$/.exec(text)
  if (place === null) return <ExactText text={text} />
  return (
    <>
      <span className="faint">
        <ExactText text={place[1] ?? ''} />
      </span>
      <ExactText text={place[2] ?? ''} />
    </>
  )
}
