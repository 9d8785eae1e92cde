/** The runner as one session sees it: with the configuration of the session's organisation. */
import type { SessionRow } from '@cairn/log'
import type { RunnerDeps } from '../runner-deps.ts'

export type OpenScope = {
  runner: RunnerDeps
  /** The version of its agent with which the session began, if it has versions. */
  agent_version: number | undefined
  release: () => void
}

/** Background work keeps the parts of the scope usable. */
export async function openScope(runner: RunnerDeps, session: SessionRow): Promise<OpenScope> {
  const scope = await runner.scopeOf?.(session)
  if (scope === undefined) return { runner, agent_version: undefined, release: () => undefined }
  const { parts, agent_version, hold, release } = scope
  const scoped: RunnerDeps = {
    ...runner,
    ...parts,
    keepInBackground: running => runner.keepInBackground(running.finally(hold())),
  }
  return { runner: scoped, agent_version, release }
}
