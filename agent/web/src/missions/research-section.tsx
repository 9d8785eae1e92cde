/**
 * The research of a mission: its state, its branches as a tree with their scores, the sources, and the
 * report. A model wrote these texts, so they are shown as untrusted.
 */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { BranchView, ResearchView, SourceView } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { artifactQuery } from '../queries.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { Markdown } from '../markdown/markdown.tsx'
import { researchQuery } from './missions-query.ts'
import './research.css'
import { missionsWords } from '../words/missions.ts'
import { rich } from '../words/rich.tsx'

const LEVEL_WORDS = missionsWords.levels

export function ResearchSections({ missionId, isLive }: { missionId: string; isLive: boolean }) {
  const { data, error } = useQuery(researchQuery(missionId, isLive))
  if (error)
    return (
      <p className="inline-error" role="alert">
        {describeError(error)}
      </p>
    )
  if (data === undefined) return null
  const { run, branches, sources } = data
  return (
    <>
      {run.report !== null && <Report sessionId={run.session_id} report={run.report} />}
      <section>
        <h2>{missionsWords.branches}</h2>
        <Standing run={run} branches={branches} />
        <Tree branches={branches} run={run} parent={null} />
      </section>
      {sources.length > 0 && <Sources sources={sources} />}
    </>
  )
}

type Run = ResearchView['run']

function Standing({ run, branches }: { run: Run; branches: readonly BranchView[] }) {
  const { mode, max_branches, best_score, consecutive_non_improving: count, level, metric } = run
  return (
    <>
      <p className="research-standing" data-testid="research-standing">
        <span className="numeric">{missionsWords.branchCount(branches.length, max_branches)}</span>
        <span className="numeric">
          {best_score === null
            ? missionsWords.noScoreYet
            : mode === 'report'
              ? missionsWords.bestOf100(best_score)
              : missionsWords.best(best_score)}
        </span>
        {count > 0 && <span className="numeric">{missionsWords.noImprovement(count)}</span>}
        {level !== null && <Level level={level} />}
      </p>
      {metric !== undefined && (
        <p className="research-metric faint">
          {rich(metric.direction === 'min' ? missionsWords.metricMin : missionsWords.metricMax, {
            command: <code>{metric.command}</code>,
          })}
        </p>
      )}
    </>
  )
}

const Level = ({ level }: { level: NonNullable<BranchView['level']> }) => (
  <span className="badge research-level" data-level={level}>
    {LEVEL_WORDS[level]}
  </span>
)

function Tree({
  branches,
  run,
  parent,
}: {
  branches: readonly BranchView[]
  run: Run
  parent: string | null
}) {
  const here = branches.filter(({ parent_key }) => parent_key === parent)
  if (here.length === 0) return parent === null ? <p className="faint">{missionsWords.noBranches}</p> : null
  return (
    <ul className="branch-tree" {...(parent === null ? { 'data-testid': 'branch-tree' } : {})}>
      {here.map(branch => (
        <li key={branch.key} data-status={branch.status} data-testid="branch" data-key={branch.key}>
          <p className="branch-line">
            <span className="branch-key numeric">{branch.key}</span>
            <Link to="/sessions/$sessionId" params={{ sessionId: branch.worker_id }}>
              <ExactText text={branch.question} />
            </Link>
            <Score branch={branch} run={run} />
            {branch.level !== null && <Level level={branch.level} />}
            {branch.adopted_at !== null && <span className="badge">{missionsWords.adopted}</span>}
          </p>
          {branch.findings !== null && (
            <details className="branch-found">
              <summary>{branch.status === 'failed' ? missionsWords.error : missionsWords.findings}</summary>
              {branch.why !== null && run.mode === 'report' && (
                <p className="muted">
                  <ExactText text={branch.why} />
                </p>
              )}
              <p className="branch-findings">
                <ExactText text={branch.findings} />
              </p>
            </details>
          )}
          <Tree branches={branches} run={run} parent={branch.key} />
        </li>
      ))}
    </ul>
  )
}

function Score({ branch, run: { mode } }: { branch: BranchView; run: Run }) {
  const { status, harvested_at, score, improves } = branch
  if (status === 'open') return <span className="branch-score faint">{missionsWords.running}</span>
  if (status === 'failed') return <span className="branch-score branch-failed">{missionsWords.failed}</span>
  if (harvested_at === null) return <span className="branch-score faint">{missionsWords.scoring}</span>
  if (score === null) return <span className="branch-score faint">{missionsWords.noScore}</span>
  return (
    <span className="branch-score numeric" data-improves={improves === true}>
      {mode === 'report' && (
        <meter min={0} max={100} value={score} aria-label={missionsWords.scoreOf(branch.key)} />
      )}
      {score}
      {improves === true && <span className="branch-improves"> {missionsWords.improves}</span>}
    </span>
  )
}

function Sources({ sources }: { sources: readonly SourceView[] }) {
  return (
    <section>
      <h2>{missionsWords.sources}</h2>
      <ol className="research-sources" data-testid="research-sources">
        {sources.map(({ number, url, title, quote, claim, branch_key, fetched_at }) => (
          <li key={number}>
            <p>
              <span className="branch-key numeric">{missionsWords.source(number)}</span>{' '}
              <strong>
                <ExactText text={title === '' ? url : title} />
              </strong>
            </p>
            <blockquote>
              <ExactText text={quote} />
            </blockquote>
            <p className="muted">
              <ExactText text={claim} />
            </p>
            <p className="faint research-url">
              <ExactText text={url} /> · {missionsWords.fetched(branch_key, fetched_at.slice(0, 10))}
            </p>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Report({ sessionId, report }: { sessionId: string; report: NonNullable<Run['report']> }) {
  const { data, error } = useQuery(artifactQuery(sessionId, report.artifact_id, 0))
  return (
    <section data-testid="research-report">
      <h2>{missionsWords.report}</h2>
      {error && (
        <p className="inline-error" role="alert">
          {describeError(error)}
        </p>
      )}
      {data?.spec.kind === 'markdown' && (
        <article className="research-text" aria-label={report.title}>
          <h3>
            <ExactText text={report.title} />
          </h3>
          <Markdown text={data.spec.content} />
        </article>
      )}
    </section>
  )
}
