/**
 * Research as a row of the capabilities: findings of its branches are added before the next call, and an
 * accepted report ends the round (contract 14.5).
 */
import { childConfig } from '@cairn/sessions'
import { BRANCH_TOOL, REPORT_TOOL, toHarvest } from '@cairn/state'
import { agentOf } from '../../governance/agent.ts'
import { createSpawnContext } from '../coordination/spawn-context.ts'
import { alwaysAllow } from '../../governance/always-allow.ts'
import type { Capability, Claimed } from '../../turn/capability.ts'
import type { Position } from '../../turn/position.ts'
import type { RunnerDeps } from '../../runner-deps.ts'
import { isReported } from '../missions/active-research.ts'
import { ADOPT_TOOL, researchAdoptTool } from './adopt.ts'
import { researchBranchTool } from './branch.ts'
import { CITE_TOOL, citeTool } from './cite.ts'
import { harvest } from './harvest.ts'
import { researchReportTool } from './report.ts'

type Due = 'harvest'

export function research(runner: RunnerDeps, claimed: Claimed): Capability<Due> {
  const { session, link } = claimed
  const isBranch = link?.status === 'open' && childConfig(session)?.branch !== undefined
  const place = () => createSpawnContext(runner, claimed, agentOf(runner.config, session))
  return {
    name: 'research',
    handsOver: true,
    asks: () => ({
      // Outside a turn, findings are not in the conversation yet, so nothing else would start one.
      first: position => (position.turn.turn_id === null ? due(position) : null),
      isOver: position => (isReported(position) ? 'completed' : null),
      before_request: due,
      at_end: due,
    }),
    async act(turn, _, before) {
      const error = await harvest(runner, turn, before)
      return error === null
        ? { next: 'look' }
        : { next: 'fail', error, message: `The research evaluator did not answer: ${error.message}` }
    },
    setUp: setup =>
      Promise.resolve({
        ...setup,
        agent: alwaysAllow(setup.agent, isBranch ? [CITE_TOOL] : link === null ? LEADS : []),
      }),
    tools: () =>
      isBranch
        ? [citeTool(place())]
        : link === null && place().maySpawn
          ? [researchBranchTool(place()), researchReportTool(place()), researchAdoptTool(place())]
          : [],
  }
}

const LEADS = [BRANCH_TOOL, REPORT_TOOL, ADOPT_TOOL]

const due = ({ research: state }: Position): Due | null =>
  state !== null && toHarvest(state).length > 0 ? 'harvest' : null
