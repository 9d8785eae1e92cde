/** A unified diff of a text. The diff library is loaded on first use. */
import { Suspense, use, useMemo, useState } from 'react'
import { formatCount } from '../format.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { scrollRegion } from '../ui/scroll-region.ts'
import type { DiffLine, Hunk } from './line-diff.ts'
import './diff.css'
import { toolsWords } from '../words/tools.ts'
import { generalWords } from '../words/general.ts'

/** Lines shown before the person expands the diff. */
const FIRST = 300
const WORDS = toolsWords.diffSigns

let loading: Promise<typeof import('./line-diff.ts')> | undefined
const loadDiff = () => (loading ??= import('./line-diff.ts'))

type Props = {
  before: string
  after: string
  /** The texts are parts of a file, so their line numbers would be meaningless. */
  isPart?: boolean
  /** Shows all lines. An approval needs it. */
  isWhole?: boolean
}

export function DiffView(props: Props) {
  return (
    <Suspense fallback={<p className="faint">{toolsWords.comparing}</p>}>
      <Compared {...props} />
    </Suspense>
  )
}

function Compared({ before, after, isPart = false, isWhole = false }: Props) {
  const { diffLines } = use(loadDiff())
  const diff = useMemo(
    () => diffLines(before, after, isWhole ? Infinity : undefined),
    [diffLines, before, after, isWhole],
  )
  const [isOpen, setOpen] = useState(false)
  if (diff === null) return <p className="faint">{toolsWords.tooDifferent}</p>
  const total = diff.hunks.reduce((sum, { lines }) => sum + lines.length, 0)
  const most = isWhole || isOpen ? total : FIRST
  return (
    <div
      className="diff"
      data-testid="diff"
      data-added={diff.added}
      data-removed={diff.removed}
      {...scrollRegion(toolsWords.change(formatCount(diff.added), formatCount(diff.removed)))}
    >
      {total === 0 ? (
        <p className="faint">{toolsWords.noChange}</p>
      ) : (
        firstLines(diff.hunks, most).map((hunk, at) => <HunkView key={at} hunk={hunk} isPart={isPart} />)
      )}
      {most < total && (
        <button type="button" className="code-more" onClick={() => setOpen(true)}>
          {generalWords.showAllLines(total)}
        </button>
      )}
    </div>
  )
}

/** The first lines of the hunks, at most `most`. */
function firstLines(hunks: readonly Hunk[], most: number): Hunk[] {
  const kept: Hunk[] = []
  let left = most
  for (const { lines } of hunks) {
    if (left <= 0) break
    kept.push({ lines: lines.slice(0, left) })
    left -= lines.length
  }
  return kept
}

const HunkView = ({ hunk, isPart }: { hunk: Hunk; isPart: boolean }) => (
  <div className="hunk" dir="ltr">
    {hunk.lines.map((line, at) => (
      <Line key={at} line={line} isPart={isPart} />
    ))}
  </div>
)

const Line = ({ line: { sign, text, before, after }, isPart }: { line: DiffLine; isPart: boolean }) => (
  <div className="diff-line" data-sign={sign === ' ' ? undefined : sign}>
    {!isPart && (
      <>
        <span className="diff-number" aria-hidden="true">
          {before}
        </span>
        <span className="diff-number" aria-hidden="true">
          {after}
        </span>
      </>
    )}
    <span className="diff-sign" aria-label={WORDS[sign] || undefined} role={sign === ' ' ? undefined : 'img'}>
      {sign}
    </span>
    <span className="diff-text">
      <ExactText text={text} />
    </span>
  </div>
)
