/** Filter, time mode, failures and zoom of the Run view. */
import type { ReactNode, RefObject } from 'react'
import type { SpanKind } from '@cairn/protocol'
import { AlertIcon, ClockIcon, CloseIcon, SearchIcon } from '../ui/icons.tsx'
import { PanelIcon } from '../ui/page-icons.tsx'
import { Picker } from '../ui/picker.tsx'
import { runWords } from '../words/run.ts'
import { isFilteringRun, NO_RUN_FILTER } from './run-filter.ts'
import { WholeIcon, ZoomInIcon } from './run-icons.tsx'
import type { RunCommand } from './run-keys.ts'
import type { Run } from './use-run.ts'

const KINDS = ['model', 'tool', 'browser', 'worker', 'wait', 'gap'] as const satisfies readonly SpanKind[]

const ALL = 'all'

type Props = {
  run: Run
  failures: number
  field: RefObject<HTMLInputElement | null>
  isPaneOpen: boolean
  onCommand: (command: RunCommand) => void
}

export function RunToolbar({ run, failures, field, isPaneOpen, onCommand }: Props) {
  return (
    <div className="run-toolbar" role="toolbar" aria-label={runWords.region}>
      <Filters run={run} failures={failures} field={field} onCommand={onCommand} />
      <span className="run-toolbar-end">
        <TimeButton run={run} onCommand={onCommand} />
        <Command word={runWords.zoomIn} onPress={() => onCommand('zoom-in')} testId="run-zoom-in">
          <ZoomInIcon />
        </Command>
        <Command word={runWords.showWhole} onPress={() => onCommand('whole')} testId="run-whole">
          <WholeIcon />
        </Command>
        <Command
          word={isPaneOpen ? runWords.hideReading : runWords.showReading}
          onPress={() => onCommand('pane')}
          isExpanded={isPaneOpen}
          testId="run-pane-toggle"
        >
          <PanelIcon />
        </Command>
      </span>
    </div>
  )
}

type CommandProps = {
  word: string
  onPress: () => void
  isExpanded?: boolean
  testId: string
  children: ReactNode
}

const Command = ({ word, onPress, isExpanded, testId, children }: CommandProps) => (
  <button
    type="button"
    className="button quiet square small"
    aria-label={word}
    title={word}
    aria-expanded={isExpanded}
    onClick={onPress}
    data-testid={testId}
  >
    {children}
  </button>
)

function TimeButton({ run, onCommand }: Pick<Props, 'run' | 'onCommand'>) {
  const word = run.mode === 'active' ? runWords.activeTime : runWords.clockTime
  return (
    <button
      type="button"
      className="button small"
      title={runWords.timeMode(word)}
      onClick={() => onCommand('time-mode')}
      data-testid="run-time-mode"
    >
      <ClockIcon />
      {word}
    </button>
  )
}

function Filters({ run, failures, field, onCommand }: Omit<Props, 'isPaneOpen'>) {
  const { filter, setFilter } = run
  return (
    <>
      <label className="run-filter">
        <SearchIcon />
        <span className="visually-hidden">{runWords.filter}</span>
        <input
          type="text"
          inputMode="search"
          placeholder={runWords.filter}
          ref={field}
          value={filter.text}
          onChange={event => setFilter({ ...filter, text: event.target.value.toLowerCase() })}
          onKeyDown={event => {
            if (event.key === 'Escape' || event.key === 'Enter') onCommand('out')
          }}
          data-testid="run-filter"
        />
      </label>
      <Picker
        className="run-kinds"
        label={runWords.kinds}
        options={[
          { id: ALL, text: runWords.allKinds },
          ...KINDS.map(kind => ({ id: kind, text: runWords.kindNames[kind] })),
        ]}
        value={filter.kind ?? ALL}
        onChange={id => setFilter({ ...filter, kind: KINDS.find(one => one === id) ?? null })}
        testId="run-kind"
      />
      <button
        type="button"
        className="button small"
        aria-pressed={filter.failedOnly}
        onClick={() => setFilter({ ...filter, failedOnly: !filter.failedOnly })}
        disabled={failures === 0 && !filter.failedOnly}
        data-testid="run-failures"
      >
        <AlertIcon />
        {failures === 0 ? runWords.noFailure : runWords.failures(failures)}
      </button>
      {isFilteringRun(filter) && (
        <Command word={runWords.clearFilter} onPress={() => setFilter(NO_RUN_FILTER)} testId="run-clear">
          <CloseIcon />
        </Command>
      )}
    </>
  )
}
