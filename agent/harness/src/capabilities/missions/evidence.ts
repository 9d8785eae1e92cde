/**
 * Evidence for a mission's evaluator besides the transcript: the tasks and their results, and the current
 * content of files and artifacts that the answer names (contract 14.5). Named files that do not exist are
 * reported as missing.
 */
import { clip, cutAt } from '@cairn/protocol'
import { locate, PathProblem, readText } from '@cairn/workspace'
import type { Mission } from '@cairn/state'
import type { TurnContext } from '../../turn/context.ts'

const MAX_FILES = 20
const TASK_CHARS = 1000
/** A relative path with an extension, as written in prose and Markdown. */
const PATH = /(?<![\w/:.@-])(?:[\w.-]+\/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])/g

const pathsIn = (text: string): string[] => [...new Set(text.match(PATH) ?? [])].slice(0, MAX_FILES)

/**
 * At most `most` characters: a report takes at most seven tenths, tasks at most half of the rest, artifacts
 * at most half of what remains then.
 */
export async function gatherEvidence(
  turn: TurnContext,
  mission: Mission,
  answer: string,
  most: number,
): Promise<string> {
  const parts: string[] = []
  let left = most
  const show = (text: string, limit: number): void => {
    const shown = cutAt(text, limit)
    if (shown === '') return
    parts.push(shown)
    left -= shown.length
  }
  show(await describeReport(turn, mission), Math.floor(left * 0.7))
  show(await describeTasks(turn, mission), Math.floor(left / 2))
  show(await describeArtifacts(turn, answer), Math.floor(left / 2))
  for (const path of pathsIn(answer)) {
    if (left <= 0) {
      parts.push('[more files are named than can be shown]')
      break
    }
    show(await describeFile(turn.workspace, path), left)
  }
  return parts.join('\n\n')
}

/** Tasks of this mission only; those of an earlier mission of the session are not its work. */
async function describeTasks({ store, log }: TurnContext, { started_at }: Mission): Promise<string> {
  const since = Date.parse(started_at)
  const tasks = (await store.tasks.list(log.session().id)).filter(task => task.created_at >= since)
  if (tasks.length === 0) return ''
  const lines = tasks.map(({ task_id, status, goal, state }) => {
    const came = state.result ?? state.error ?? ''
    return `- ${task_id} (${status}): ${clip(goal, 300)}${came === '' ? '' : `\n  ${clip(came, TASK_CHARS)}`}`
  })
  return `Tasks:\n${lines.join('\n')}`
}

/**
 * The last report that research handed in. Its quotations were checked against the sources when it was
 * accepted.
 */
async function describeReport({ store, log }: TurnContext, { mission_id }: Mission): Promise<string> {
  const { research } = log.position()
  if (research?.mission_id !== mission_id || research.report === null) return ''
  const { artifact_id, title } = research.report
  const found = await store.artifacts.get(log.session().id, artifact_id)
  const text = found?.spec.kind === 'markdown' ? found.spec.content : ''
  const checked = 'whose markers and quotations were checked against its sources'
  return `Report ${JSON.stringify(title)}, ${checked}:\n${text}`
}

async function describeArtifacts({ store, log }: TurnContext, answer: string): Promise<string> {
  const { id } = log.session()
  const named = (await store.artifacts.list(id)).filter(({ name }) => answer.includes(name)).slice(-MAX_FILES)
  const shown = await Promise.all(
    named.map(async ({ artifact_id, name, kind }) => {
      const found = await store.artifacts.get(id, artifact_id)
      return `Artifact ${JSON.stringify(name)} (${kind}):\n${clip(JSON.stringify(found?.spec ?? null), 8000)}`
    }),
  )
  return shown.join('\n\n')
}

async function describeFile(workspace: string, path: string): Promise<string> {
  try {
    await using at = await locate(workspace, path, 'read')
    return `File ${path}:\n${clip(await readText(at), 12_000)}`
  } catch (error) {
    if (!(error instanceof PathProblem)) throw error
    return `File ${path}: ${error.message}`
  }
}
