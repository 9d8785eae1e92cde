/** One row of the waterfall: what the step is, how long it took, and its bar. */
import { type CSSProperties, memo } from 'react'
import { ChipView } from '../chat/tool-row.tsx'
import { ToolIcon } from '../tools/tool-icon.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { AlertIcon, CheckIcon, ClockIcon, CloseIcon } from '../ui/icons.tsx'
import { ChevronIcon, SparkIcon, StopIcon } from '../ui/page-icons.tsx'
import { StatusMark } from '../ui/status.tsx'
import { runWords } from '../words/run.ts'
import { ApprovalIcon, ModelIcon } from './run-icons.tsx'
import type { BarView, MarkView, RowView } from './row-view.ts'
import type { RowIcon } from './span-text.ts'
import { TurnStrip } from './turn-strip.tsx'
import type { Run } from './use-run.ts'

export const rowId = (key: string): string => `run-row-${key}`

const same = (a: { view: RowView; run: Run }, b: { view: RowView; run: Run }): boolean =>
  a.view.shown === b.view.shown

export const RunRow = memo(function RunRow({ view, run }: { view: RowView; run: Run }) {
  const { key, position, level, isOpen, isSelected, kind, text, sentence, duration, isRunning } = view
  return (
    <div
      id={rowId(key)}
      className="run-row"
      role="row"
      aria-label={sentence}
      aria-rowindex={position + 2}
      aria-level={level + 1}
      aria-expanded={isOpen ?? undefined}
      aria-selected={isSelected}
      data-key={key}
      data-kind={kind}
      data-open={isOpen ?? undefined}
      data-testid="run-row"
    >
      <div className="run-label" role="gridcell" style={{ '--level': Math.min(level, 8) } as CSSProperties}>
        <span className="run-twisty" aria-hidden="true" data-twisty={isOpen === null ? undefined : ''}>
          {isOpen !== null && <ChevronIcon />}
        </span>
        {kind !== 'turn' && <RowIconView name={text.icon} />}
        <span className="run-verb">{text.verb}</span>
        <span className="run-object truncate" data-code={text.isCode || undefined} dir="auto">
          <ExactText text={text.object} />
        </span>
        <span className="run-took numeric" data-running={isRunning || undefined}>
          {isRunning && <StatusMark kind="running" word={runWords.running} />}
          {duration}
        </span>
      </div>
      <div className="run-lane" role="gridcell" aria-hidden="true">
        {view.strip !== null && <TurnStrip run={run} {...view.strip} />}
        {view.strip === null &&
          view.bars.map(bar => <Bar key={bar.from} bar={bar} isOpened={isOpen === true} />)}
        {view.token !== null && <TokenBar from={view.bars[0]?.from ?? 0} token={view.token} />}
        {view.marks.map(mark => (
          <Mark key={`${mark.type}${mark.at}`} mark={mark} />
        ))}
        <Labels view={view} />
      </div>
    </div>
  )
}, same)

const places = (from: number, to: number | null): CSSProperties =>
  ({ '--s': from, ...(to !== null && { '--e': to }) }) as CSSProperties

const Bar = ({ bar, isOpened }: { bar: BarView; isOpened: boolean }) => (
  <i
    className="run-bar"
    data-kind={bar.kind}
    data-failed={bar.isFailed || undefined}
    data-running={bar.to === null || undefined}
    data-opened={isOpened || undefined}
    data-letter={runWords.letters[bar.kind]}
    style={places(bar.from, bar.to)}
  />
)

/** The time before the first token, over the bar of its model call. */
const TokenBar = ({ from, token }: { from: number; token: number }) => (
  <i
    className="run-bar run-token"
    data-running={token === Infinity || undefined}
    style={places(from, token === Infinity ? null : token)}
  />
)

const Mark = ({ mark }: { mark: MarkView }) => (
  <span
    className="run-mark"
    data-failed={mark.isFailed || undefined}
    title={mark.word}
    style={{ '--s': mark.at } as CSSProperties}
  >
    {mark.isFailed ? <AlertIcon /> : mark.type.endsWith('evaluation_end') ? <CheckIcon /> : <SparkIcon />}
  </span>
)

function Labels({ view }: { view: RowView }) {
  const { chips, note, bars, isFlipped, decision, state } = view
  const last = bars.at(-1)
  if (last === undefined) return null
  const text = state === null ? note : state === 'failed' ? runWords.workerFailed : runWords.loadingWorker
  if (chips.length === 0 && text === '' && decision === null) return null
  return (
    <span
      className="run-labels"
      data-flipped={isFlipped || undefined}
      data-running={last.to === null || undefined}
      style={places(bars[0]?.from ?? 0, last.to)}
    >
      {decision !== null && (
        <span className="run-decision" data-decision={decision}>
          {decision === 'approved' ? <CheckIcon /> : <CloseIcon />}
        </span>
      )}
      {chips.map(chip => (
        <ChipView key={chip.text} chip={chip} />
      ))}
      {text !== '' && <span>{text}</span>}
    </span>
  )
}

export function RowIconView({ name }: { name: RowIcon }) {
  switch (name) {
    case 'model':
      return <ModelIcon />
    case 'approval':
      return <ApprovalIcon />
    case 'pause':
      return <StopIcon />
    case 'gap':
      return <AlertIcon />
    case 'turn':
      return <ClockIcon />
    default:
      return <ToolIcon name={name} />
  }
}
