/** The difference of two settings, line by line. The diff library is loaded on first use. */
import { Suspense, use, useMemo } from 'react'
import { toolsWords } from '../words/tools.ts'

let loading: Promise<typeof import('../code/line-diff.ts')> | undefined
const loadDiff = () => (loading ??= import('../code/line-diff.ts'))

type Props = { before: string; after: string }

export const SettingDiff = (props: Props) => (
  <Suspense fallback={<p className="faint">{toolsWords.comparing}</p>}>
    <Compared {...props} />
  </Suspense>
)

function Compared({ before, after }: Props) {
  const { diffLines } = use(loadDiff())
  const diff = useMemo(() => diffLines(before, after), [diffLines, before, after])
  if (diff === null) return <p className="faint">{toolsWords.tooDifferent}</p>
  const lines = diff.hunks.flatMap(hunk => hunk.lines)
  if (lines.length === 0) return <p className="faint">{toolsWords.noChange}</p>
  return (
    <ol className="setting-diff" dir="ltr">
      {lines.map(({ sign, text }, at) => (
        <li key={at} data-sign={sign === ' ' ? undefined : sign}>
          <span
            className="setting-sign"
            role={sign === ' ' ? undefined : 'img'}
            aria-label={toolsWords.diffSigns[sign] || undefined}
          >
            {sign}
          </span>
          {text}
        </li>
      ))}
    </ol>
  )
}
