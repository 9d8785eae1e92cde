/** The position of a session in its tree, and the limits for the workers that it may create. */
import type { Link, SessionRow } from '@cairn/log'
import type { AgentConfig, WorkersConfig } from '@cairn/protocol'
import { childConfig } from '@cairn/sessions'
import type { RunnerDeps } from '../../runner-deps.ts'
import type { Claimed } from '../../turn/capability.ts'

export type SpawnContext = {
  runner: RunnerDeps
  claimed: Claimed
  session: SessionRow
  link: Link | null
  /** 0 for a root. */
  depth: number
  root_id: string
  /** Its parent has no outcome of it yet. */
  isChild: boolean
  limits: WorkersConfig
  maySpawn: boolean
}

export function createSpawnContext(runner: RunnerDeps, claimed: Claimed, agent: AgentConfig): SpawnContext {
  const { session, link } = claimed
  const depth = link?.depth ?? 0
  const limits = agent.workers
  const leads = link === null || childConfig(session)?.role === 'orchestrator'
  return {
    runner,
    claimed,
    session,
    link,
    depth,
    root_id: link?.root_id ?? session.id,
    isChild: link?.status === 'open' && link.kind !== 'run',
    limits,
    maySpawn: limits.enabled && leads && depth < limits.max_depth,
  }
}
