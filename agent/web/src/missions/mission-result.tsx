/** What a mission has achieved: the graded answer of its best round, and what the evaluator says of it. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { isMissionOver, type MissionDetail, visibleText } from '@cairn/protocol'
import { Markdown } from '../markdown/markdown.tsx'
import { CheckIcon, ClockIcon } from '../ui/icons.tsx'
import { Status } from '../ui/status.tsx'
import { ExactText } from '../ui/exact-text.tsx'
import { generalWords } from '../words/general.ts'
import { missionsWords } from '../words/missions.ts'
import { criteriaOf, resultWord } from './mission-words.ts'
import { gradedAnswerQuery, missionArtifactsQuery } from './missions-query.ts'

type Verdict = MissionDetail['verdicts'][number]

/** The satisfied round, else the last one: an evaluator does not rank rounds. */
const bestOf = (verdicts: readonly Verdict[]): Verdict | undefined =>
  verdicts.find(({ result }) => result === 'satisfied') ?? verdicts.at(-1)

export function MissionResult({ mission }: { mission: MissionDetail }) {
  const { session_id, verdicts, status } = mission
  const best = bestOf(verdicts)
  const { data: answer } = useQuery(gradedAnswerQuery(session_id, best?.response_event_id))
  const { data: artifacts = [] } = useQuery(missionArtifactsQuery(session_id, verdicts.length))
  return (
    <section className="mission-result" data-testid="mission-result">
      <h2>
        {isMissionOver(status) ? missionsWords.result : missionsWords.resultSoFar}
        {best !== undefined && <span className="faint"> {missionsWords.ofRound(best.iteration)}</span>}
      </h2>
      {best === undefined ? (
        <p className="surface faint">{missionsWords.noResult}</p>
      ) : (
        <div className="surface">
          <p className="mission-line">
            <strong data-result={best.result}>{resultWord(best.result)}</strong>
            {best.response_event_id !== undefined && (
              <Link
                to="/sessions/$sessionId/events"
                params={{ sessionId: session_id }}
                search={{ id: best.response_event_id }}
              >
                {missionsWords.openAnswer}
              </Link>
            )}
          </p>
          <p>
            <ExactText text={best.explanation} />
          </p>
          {answer !== undefined && answer !== null && (
            <div className="mission-answer" data-testid="mission-answer">
              <Markdown text={visibleText(answer)} />
            </div>
          )}
          {artifacts.length > 0 && (
            <ul className="mission-artifacts">
              {artifacts.map(({ artifact_id: id, name }) => (
                <li key={id}>
                  <Link
                    className="button"
                    to="/sessions/$sessionId"
                    params={{ sessionId: session_id }}
                    search={{ rail: 'artifacts' }}
                  >
                    {visibleText(name)}
                  </Link>
                </li>
              ))}
            </ul>
          )}
          <Criteria rubric={mission.rubric} isMet={best.result === 'satisfied'} />
        </div>
      )}
    </section>
  )
}

/** An evaluator judges the criteria together, so they are met or open together. */
const Criteria = ({ rubric, isMet }: { rubric: string; isMet: boolean }) => (
  <div className="mission-criteria">
    <h3>{missionsWords.criteria}</h3>
    <ul data-met={isMet || undefined}>
      {criteriaOf(rubric).map((criterion, at) => (
        <li key={at}>
          {isMet ? <CheckIcon /> : <ClockIcon />}
          <ExactText text={criterion} />
        </li>
      ))}
    </ul>
  </div>
)

/**
 * The rounds side by side: the verdict of each and why, the running one, and those that are left. The oldest
 * scroll away to the left.
 */
export function Rounds({ mission }: { mission: MissionDetail }) {
  const { verdicts, session_id, status, iteration, max_iterations: max, evaluating } = mission
  const running = status === 'active' && iteration < max ? iteration + 1 : null
  if (verdicts.length === 0) return null
  return (
    <section>
      <h2>{missionsWords.rounds}</h2>
      <ol className="mission-rounds" data-testid="verdicts">
        {verdicts.map(verdict => (
          <li key={verdict.iteration} className="surface" data-result={verdict.result}>
            <p className="mission-line">
              <strong>{missionsWords.roundNumber(verdict.iteration)}</strong>
              <span className="mission-verdict">{resultWord(verdict.result)}</span>
            </p>
            {verdict.trigger !== 'round_end' && (
              <p className="faint">{missionsWords.endedBy(verdict.trigger)}</p>
            )}
            <p>
              <ExactText text={verdict.explanation} />
            </p>
            {verdict.feedback !== '' && (
              <p className="muted">
                <ExactText text={verdict.feedback} />
              </p>
            )}
            {verdict.response_event_id !== undefined && (
              <Link
                className="json-link"
                to="/sessions/$sessionId/events"
                params={{ sessionId: session_id }}
                search={{ id: verdict.response_event_id }}
              >
                {generalWords.event(verdict.response_event_id)}
              </Link>
            )}
          </li>
        ))}
        {running !== null && (
          <li className="surface" data-running data-testid="running-round">
            <p className="mission-line">
              <strong>{missionsWords.roundNumber(running)}</strong>
              <Status
                kind="running"
                word={evaluating ? missionsWords.evaluating : missionsWords.roundRunning}
              />
            </p>
          </li>
        )}
        {running !== null && running < max && (
          <li className="surface" data-left>
            <strong>{missionsWords.roundsLeft(running + 1, max)}</strong>
            <p>{missionsWords.roundsLeftText(running)}</p>
          </li>
        )}
      </ol>
    </section>
  )
}
