/**
 * What the evaluator of a mission is shown beside what was said: the tasks and their results, and the files
 * and artifacts that the answer names, as they are (contract 14.5). A file that is named and not there is
 * said to be missing.
 */
import { clip, cutAt } from '@cairn/protocol'
import { locate, PathProblem, readText } from '@cairn/workspace'
import type { TurnContext } from '../turn/context.ts'

const MOST_CHARS = 40_000
const MOST_FILES = 20
const TASK_CHARS = 1000
/** A relative path with an ending, as prose and Markdown name files. */
const PATH = /(?<![\w/:.@-])(?:[\w.-]+\/)*[\w-][\w.-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])/g

const pathsIn = (text: string): string[] => [...new Set(text.match(PATH) ?? [])].slice(0, MOST_FILES)

export async function gatherEvidence(turn: TurnContext, answer: string): Promise<string> {
  const parts = [await describeTasks(turn), await describeArtifacts(turn, answer)].filter(part => part !== '')
  let left = MOST_CHARS - parts.join('').length
  for (const path of pathsIn(answer)) {
    if (left <= 0) {
      parts.push('[more files are named than can be shown]')
      break
    }
    const shown = cutAt(await describeFile(turn.workspace, path), left)
    parts.push(shown)
    left -= shown.length
  }
  return parts.join('\n\n')
}

async function describeTasks({ store, log }: TurnContext): Promise<string> {
  const tasks = await store.coordination.tasks(log.session().id)
  if (tasks.length === 0) return ''
  const lines = tasks.map(({ task_id, status, goal, state }) => {
    const came = state.result ?? state.error ?? ''
    return `- ${task_id} (${status}): ${clip(goal, 300)}${came === '' ? '' : `\n  ${clip(came, TASK_CHARS)}`}`
  })
  return `Tasks:\n${lines.join('\n')}`
}

async function describeArtifacts({ store, log }: TurnContext, answer: string): Promise<string> {
  const { id } = log.session()
  const named = (await store.listArtifacts(id)).filter(({ name }) => answer.includes(name)).slice(-MOST_FILES)
  const shown = await Promise.all(
    named.map(async ({ artifact_id, name, kind }) => {
      const found = await store.getArtifact(id, artifact_id)
      return `Artifact ${JSON.stringify(name)} (${kind}):\n${clip(JSON.stringify(found?.spec ?? null), 8000)}`
    }),
  )
  return shown.join('\n\n')
}

async function describeFile(workspace: string, path: string): Promise<string> {
  try {
    await using at = await locate(workspace, path, 'read')
    return `File ${path}:\n${clip(await readText(at), 12_000)}`
  } catch (thrown) {
    if (!(thrown instanceof PathProblem)) throw thrown
    return `File ${path}: ${thrown.message}`
  }
}
