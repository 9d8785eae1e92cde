/** The first page on the first day: what the product is for, and three ways to start. */
import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { AnswerOf } from '@cairn/protocol'
import { CairnMark } from '../ui/icons.tsx'
import { FilesIcon, KeyIcon, PlayIcon } from '../ui/page-icons.tsx'
import { homeFirstWords } from '../words/home-first.ts'
import { homeWords } from '../words/home.ts'
import { HomeComposer } from './home-composer.tsx'
import { FILE_FIELD } from './task-field.ts'
import { tourOf, useStart } from './use-start.ts'

type About = AnswerOf<'about'>

const ConnectModel = lazy(() => import('./connect-model.tsx'))

// React.lazy needs a default export.
export default function FirstDay({ about }: { about: About }) {
  return (
    <>
      <header className="home-first">
        <CairnMark />
        <h1>{homeFirstWords.firstDay}</h1>
        <p>{homeFirstWords.firstDayText}</p>
      </header>
      <HomeComposer about={about} isFirst />
      <FirstStarts about={about} />
    </>
  )
}

/** Three cards below the composer. */
function FirstStarts({ about }: { about: About }) {
  const start = useStart()
  const [isConnecting, setConnecting] = useState(false)
  return (
    <div className="home-cards" role="group" aria-label={homeWords.starts}>
      {about.demo && (
        <>
          <StartCard
            icon={<PlayIcon />}
            title={homeFirstWords.tour}
            time={homeFirstWords.tourTime}
            text={homeFirstWords.tourText}
            testId="home-tour"
            onClick={() => start.mutate(tourOf(about.agents[0]?.name ?? ''))}
          />
          <StartCard
            icon={<KeyIcon />}
            title={homeFirstWords.connect}
            time={homeFirstWords.connectTime}
            text={homeFirstWords.connectText}
            testId="home-connect"
            onClick={() => setConnecting(true)}
          />
        </>
      )}
      <StartCard
        icon={<FilesIcon />}
        title={homeFirstWords.files}
        text={homeFirstWords.filesText}
        testId="home-files"
        onClick={() => document.getElementById(FILE_FIELD)?.click()}
      />
      <Suspense fallback={null}>
        {isConnecting && <ConnectModel onClose={() => setConnecting(false)} />}
      </Suspense>
    </div>
  )
}

type CardProps = {
  icon: ReactNode
  title: string
  time?: string
  text: string
  testId: string
  onClick: () => void
}

const StartCard = ({ icon, title, time, text, testId, onClick }: CardProps) => (
  <button type="button" className="home-card" onClick={onClick} data-testid={testId}>
    <span className="kind-icon">{icon}</span>
    <b>{title}</b>
    {time !== undefined && <span className="faint">{time}</span>}
    <span className="home-card-text">{text}</span>
  </button>
)
