/** The composer of the first page: a task, its agent and model, files, or a mission; and ways to start. */
import { type ChangeEvent, type KeyboardEvent, lazy, Suspense, useRef, useState } from 'react'
import type { AnswerOf } from '@cairn/protocol'
import type { UnknownCommand } from '@cairn/state'
import { AttachIcon, CloseIcon, MissionIcon, SendIcon } from '../ui/icons.tsx'
import { homeWords } from '../words/home.ts'
import { Pickers } from './pickers.tsx'
import { FILE_FIELD, NEW_HASH, prefillTask, TASK_FIELD, useMissionMode } from './task-field.ts'
import { tourOf, useStart } from './use-start.ts'

type About = AnswerOf<'about'>

const MissionFields = lazy(() => import('./mission-fields.tsx'))
const loadNote = () => import('../dock/unknown-command-note.tsx')
const UnknownCommandNote = lazy(loadNote)

/** The unsent text, kept while other pages are open. */
let kept = ''

export function HomeComposer({ about, isFirst }: { about: About; isFirst: boolean }) {
  const [text, setText] = useState(kept)
  const [agent, setAgent] = useState(about.agents[0]?.name ?? '')
  const [model, setModel] = useState<string | null>(null)
  const [files, setFiles] = useState<readonly File[]>([])
  const [isMission, setMission] = useMissionMode()
  const [criteria, setCriteria] = useState('')
  const [budget, setBudget] = useState('')
  const [unknown, setUnknown] = useState<UnknownCommand | null>(null)
  const start = useStart()
  const write = (next: string) => {
    kept = next
    setText(next)
    setUnknown(null)
  }
  const isReady =
    text.trim() !== '' && !start.isPending && (!isMission || criteria.trim() !== '') && agent !== ''
  const submit = async (asText = false) => {
    if (!isReady) return
    if (text.trimStart().startsWith('/') && !isMission && !asText) {
      const { unknownCommand } = await loadNote()
      const found = unknownCommand(
        text.trim(),
        about.skills.map(({ name }) => name),
      )
      if (found !== null) return setUnknown(found)
    }
    const limit = Number(budget)
    start.mutate(
      {
        agent,
        model,
        text: text.trim(),
        files,
        mission: isMission ? { criteria, budget: limit > 0 ? limit : null } : null,
      },
      {
        onSuccess: () => {
          write('')
          setMission(false)
        },
      },
    )
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void submit()
  }
  return (
    <>
      <form
        className="home-composer"
        onSubmit={event => {
          event.preventDefault()
          void submit()
        }}
      >
        <textarea
          id={TASK_FIELD}
          rows={1}
          dir="auto"
          value={text}
          aria-label={isMission ? homeWords.goal : homeWords.task}
          placeholder={
            isMission ? homeWords.describeGoal : isFirst ? homeWords.describeFirst : homeWords.describeTask
          }
          onChange={event => write(event.target.value)}
          onDragOver={event => event.preventDefault()}
          onDrop={event => {
            event.preventDefault()
            setFiles([...files, ...event.dataTransfer.files])
          }}
          onKeyDown={onKeyDown}
          onPaste={event => setFiles([...files, ...event.clipboardData.files])}
          autoFocus={isFirst || window.location.hash === `#${NEW_HASH}`}
          data-testid="home-task"
        />
        <Files files={files} onChange={setFiles} />
        {unknown !== null && !isMission && (
          <Suspense fallback={null}>
            <UnknownCommandNote
              unknown={unknown}
              text={text}
              onReplace={prefillTask}
              onSend={() => void submit(true)}
            />
          </Suspense>
        )}
        {isMission && (
          <Suspense fallback={null}>
            <MissionFields
              criteria={criteria}
              budget={budget}
              onCriteria={setCriteria}
              onBudget={setBudget}
            />
          </Suspense>
        )}
        <div className="home-bar">
          {!isMission && <AttachButton onPick={picked => setFiles([...files, ...picked])} />}
          <Pickers
            about={about}
            agent={agent}
            model={model}
            hasModel={!isMission}
            onAgent={name => {
              setAgent(name)
              setModel(null)
            }}
            onModel={setModel}
          />
          {(!isFirst || isMission) && (
            <button
              type="button"
              className="pick"
              aria-pressed={isMission}
              onClick={() => setMission(!isMission)}
              data-testid="home-mission"
            >
              <MissionIcon />
              {homeWords.asMission}
            </button>
          )}
          <span className="hint">{homeWords.enterToStart}</span>
          <button
            type="submit"
            className="button primary square"
            disabled={!isReady}
            aria-label={isMission ? homeWords.startMission : homeWords.start}
            data-testid="home-start"
          >
            <SendIcon />
          </button>
        </div>
      </form>
      {!isFirst && (
        <Starts about={about} onTour={() => start.mutate(tourOf(agent))} isDisabled={start.isPending} />
      )}
    </>
  )
}

type StartsProps = { about: About; onTour: () => void; isDisabled: boolean }

const Starts = ({ about, onTour, isDisabled }: StartsProps) => (
  <div className="home-starts" role="group" aria-label={homeWords.starts}>
    {homeWords.startTexts.map(([label, text]) => (
      <button key={label} type="button" className="pick" onClick={() => prefillTask(text)}>
        {label}
      </button>
    ))}
    {about.demo && (
      <button type="button" className="pick" disabled={isDisabled} onClick={onTour} data-testid="home-tour">
        {homeWords.tourStart}
      </button>
    )}
  </div>
)

function AttachButton({ onPick }: { onPick: (files: File[]) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const picked = (event: ChangeEvent<HTMLInputElement>) => {
    onPick([...(event.target.files ?? [])])
    event.target.value = ''
    document.getElementById(TASK_FIELD)?.focus()
  }
  return (
    <>
      <button
        type="button"
        className="button quiet square small"
        aria-label={homeWords.attach}
        title={homeWords.attachHint}
        onClick={() => field.current?.click()}
      >
        <AttachIcon />
      </button>
      <input ref={field} id={FILE_FIELD} type="file" multiple hidden onChange={picked} />
    </>
  )
}

type FilesProps = { files: readonly File[]; onChange: (files: readonly File[]) => void }

const Files = ({ files, onChange }: FilesProps) =>
  files.length > 0 && (
    <ul className="home-files" aria-label={homeWords.attached}>
      {files.map((file, at) => (
        <li key={`${file.name} ${at}`}>
          <span className="truncate">{file.name}</span>
          <button
            type="button"
            className="button quiet square small"
            aria-label={homeWords.removeFile(file.name)}
            onClick={() => onChange(files.filter((_, other) => other !== at))}
          >
            <CloseIcon />
          </button>
        </li>
      ))}
    </ul>
  )
