/**
 * Runs of coding agents, as a fold of the log: what a runner needs to continue one, and what the page shows
 * of it. A run begins with code.run_started and ends with exactly one code.run_result.
 *
 * A permission that a person has to decide on is a gate of the run. While a gate is open and no process runs,
 * the run is parked; the agent receives the decisions when it resumes, which its next progress event shows.
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'

export type CodeGate = {
  /** `<run_id>:<the coding agent's own call id>`. */
  readonly tool_call_id: string
  readonly tool_name: string
  /** The event that asks for the permission. */
  readonly asked_id: EventId
  /** Null: not decided yet. */
  readonly decision: 'approve' | 'reject' | null
}
export type CodeLine = { readonly kind: 'text' | 'tool' | 'plan'; readonly text: string }
type Result = EventOf<'code.run_result'>['data']

export type CodeRun = {
  readonly run_id: string
  readonly agent: string
  readonly provider: string
  readonly prompt: string
  readonly source_event_id: EventId
  /** Id of the run_coding_agent call; null: the run was started by a command. */
  readonly tool_call_id: string | null
  /**
   * The entry of `code.repos` whose clone the run works in, on its own branch; null: it works in the
   * workspace.
   */
  readonly repo: { readonly name: string; readonly branch: string } | null
  /** RFC 3339. */
  readonly started_at: string
  /** Sequence number of the next progress event. */
  readonly next_seq: number
  readonly gates: readonly CodeGate[]
  /** The newest lines; bounded. */
  readonly lines: readonly CodeLine[]
  readonly plan: string | null
  readonly result: Result | null
}

export const noRuns: readonly CodeRun[] = []

/** Maximum lines of an agent that are kept for the page; the log has all of them. */
const MAX_LINES = 200
const MAX_LINE = 8000
const MAX_RUNS = 20

export const isLive = (run: CodeRun): boolean => run.result === null
export const liveRun = (runs: readonly CodeRun[]): CodeRun | null => runs.find(isLive) ?? null
/** Calls that wait because their run waits for a decision. */
export const parkedCalls = (runs: readonly CodeRun[]): string[] =>
  runs.flatMap(run => (run.tool_call_id !== null && waitsForDecision(run) ? [run.tool_call_id] : []))
/** The run cannot continue before a person decides. */
export const waitsForDecision = (run: CodeRun): boolean =>
  isLive(run) && run.gates.some(gate => gate.decision === null)

export function foldCodeRuns(runs: readonly CodeRun[], event: SessionEvent): readonly CodeRun[] {
  switch (event.type) {
    case 'code.run_started':
      return [...runs.slice(1 - MAX_RUNS), begun(event)]
    case 'code.run_progress':
      return change(runs, event.data.run_id, run => progressed(run, event.data))
    case 'inbox.governance_gate': {
      const { run_id, tool_call_id, tool_name, repeats_tool_call_id } = event.data
      if (run_id === undefined || repeats_tool_call_id !== undefined) return runs
      return change(runs, run_id, run => ({
        ...run,
        gates: [...run.gates, { tool_call_id, tool_name, asked_id: event.id, decision: null }],
      }))
    }
    case 'user.message': {
      const { run_id, tool_call_id, metadata } = event.data
      if (run_id === undefined) return runs
      const decision = metadata?.['decision'] === 'approve' ? 'approve' : 'reject'
      return change(runs, run_id, run => ({
        ...run,
        gates: run.gates.map(gate => (gate.tool_call_id === tool_call_id ? { ...gate, decision } : gate)),
      }))
    }
    case 'code.run_result':
      return change(runs, event.data.run_id, run => ({ ...run, gates: [], result: event.data }))
    default:
      return runs
  }
}

const change = (
  runs: readonly CodeRun[],
  id: string,
  change: (run: CodeRun) => CodeRun,
): readonly CodeRun[] =>
  runs.some(run => run.run_id === id) ? runs.map(run => (run.run_id === id ? change(run) : run)) : runs

const begun = ({ data, created_at }: EventOf<'code.run_started'>): CodeRun => ({
  run_id: data.run_id,
  agent: data.agent,
  provider: data.provider,
  prompt: data.prompt,
  source_event_id: data.source_event_id,
  tool_call_id: data.tool_call_id ?? null,
  repo:
    data.repo === undefined || data.branch === undefined ? null : { name: data.repo, branch: data.branch },
  started_at: created_at,
  next_seq: 0,
  gates: [],
  lines: [],
  plan: null,
  result: null,
})

function progressed(run: CodeRun, data: EventOf<'code.run_progress'>['data']): CodeRun {
  const { chunk, kind = 'text', seq = run.next_seq } = data
  const next = { ...run, next_seq: seq + 1, gates: run.gates.filter(gate => gate.decision === null) }
  if (kind === 'plan') return { ...next, plan: chunk }
  const last = run.lines.at(-1)
  const isContinued = kind === 'text' && last?.kind === 'text' && last.text.length < MAX_LINE
  return {
    ...next,
    lines: isContinued
      ? [...run.lines.slice(0, -1), { kind, text: last.text + chunk }]
      : [...run.lines.slice(1 - MAX_LINES), { kind, text: chunk }],
  }
}

/** A runner continues runs that have not ended and needs none of their output. */
export const neededRuns = (runs: readonly CodeRun[]): readonly CodeRun[] =>
  runs.filter(isLive).map(run => ({ ...run, lines: [], plan: null }))
