/** The entries of a folder, and the matches of a search. */
import { ExactText } from '../ui/exact-text.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import { toolsWords } from '../words/tools.ts'

const FIRST = 200

export function FileList({ entries }: { entries: readonly unknown[] }) {
  return <Lines lines={entries.map(String)} name={toolsWords.entries} />
}

/** Matches are "path:line: text". */
export function FoundLines({ matches }: { matches: readonly unknown[] }) {
  return <Lines lines={matches.map(String)} name={toolsWords.matches} />
}

function Lines({ lines, name }: { lines: readonly string[]; name: string }) {
  if (lines.length === 0) return <p className="faint">{toolsWords.none}</p>
  return (
    <div className="tool-lines" dir="ltr" {...scrollRegion(name)}>
      <ul>
        {lines.slice(0, FIRST).map((line, at) => (
          <li key={at}>
            <Line text={line} />
          </li>
        ))}
        {lines.length > FIRST && <li className="faint">{toolsWords.more(lines.length - FIRST)}</li>}
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
